package compare

import (
	"fmt"
	"reflect"
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// platforms adds the keys of platforms, each platform on its own.
func (k *keys) platforms() {
	for i := range k.old.Platforms {
		was := &k.old.Platforms[i]
		if k.new.Platform(was.Source) == nil {
			k.add(true, key{mail: true, undo: func(p *policy.Policy) { p.Platforms = append(slices.Clone(p.Platforms), *was) }}, "platform", i)
		}
	}
	for i := range k.new.Platforms {
		is := &k.new.Platforms[i]
		was := k.old.Platform(is.Source)
		if was == nil {
			k.add(true, key{mail: true, undo: func(p *policy.Policy) {
				p.Platforms = slices.DeleteFunc(slices.Clone(p.Platforms), func(o policy.Platform) bool { return o.Source == is.Source })
			}}, "platform", i)
			continue
		}
		field(k, i, was, "owner_ids", func(p *policy.Platform) *[]int64 { return &p.OwnerIDs })
		field(k, i, was, "allowed_ids", func(p *policy.Platform) *[]int64 { return &p.AllowedIDs })
		field(k, i, was, "trust", func(p *policy.Platform) *terms.Trust { return &p.Trust })
		field(k, i, was, "actions", func(p *policy.Platform) *[]terms.Action { return &p.Actions })
		k.chats(i, was, is)
	}
}

// edit changes one platform of a copy of a policy.
func edit(p *policy.Policy, source string, fn func(pl *policy.Platform)) {
	p.Platforms = slices.Clone(p.Platforms)
	if pl := p.Platform(source); pl != nil {
		fn(pl)
	}
}

func field[T any](k *keys, nth int, was *policy.Platform, name string, of func(p *policy.Platform) *T) {
	is := &k.new.Platforms[nth]
	k.add(!reflect.DeepEqual(*of(was), *of(is)), key{name: "platform." + name, mail: true, undo: func(p *policy.Policy) {
		edit(p, is.Source, func(pl *policy.Platform) { *of(pl) = *of(was) })
	}}, "platform", nth)
}

// chats adds a key for each chat of a platform that differs.
func (k *keys) chats(nth int, was, is *policy.Platform) {
	for _, id := range chatIDs(was, is) {
		from, to := chatOf(was, id), chatOf(is, id)
		if from != nil && to != nil && reflect.DeepEqual(*from, *to) {
			continue
		}
		it := key{name: fmt.Sprintf("platform.chat %d", id), undo: func(p *policy.Policy) {
			edit(p, is.Source, func(pl *policy.Platform) {
				pl.Chats = slices.DeleteFunc(slices.Clone(pl.Chats), func(c policy.Chat) bool { return c.ID == id })
				if from != nil {
					pl.Chats = append(pl.Chats, *from)
				}
			})
		}}
		it.file, it.line = k.new.Name, k.new.Line("platform.chat", nthChat(k.new, is.Source, id))
		if to == nil {
			it.file, it.line = k.old.Name, k.old.Line("platform.chat", nthChat(k.old, is.Source, id))
		}
		k.list = append(k.list, it)
	}
}

// chatIDs returns the chats of both platforms, either of which may be nil.
func chatIDs(list ...*policy.Platform) (ids []int64) {
	for _, pl := range list {
		if pl == nil {
			continue
		}
		for i := range pl.Chats {
			if !slices.Contains(ids, pl.Chats[i].ID) {
				ids = append(ids, pl.Chats[i].ID)
			}
		}
	}
	return ids
}

func chatOf(pl *policy.Platform, id int64) *policy.Chat {
	if pl == nil {
		return nil
	}
	for i := range pl.Chats {
		if pl.Chats[i].ID == id {
			return &pl.Chats[i]
		}
	}
	return nil
}

// nthChat returns how many [[platform.chat]] stand in the file before the one of this id.
func nthChat(p *policy.Policy, source string, id int64) (n int) {
	for i := range p.Platforms {
		for j := range p.Platforms[i].Chats {
			if p.Platforms[i].Source == source && p.Platforms[i].Chats[j].ID == id {
				return n
			}
			n++
		}
	}
	return -1
}
