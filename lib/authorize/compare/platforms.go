package compare

import (
	"reflect"
	"slices"

	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// platforms adds the keys of platforms, each platform on its own.
func (k *keys) platforms() {
	before, after := bySource(k.old), bySource(k.new)
	for i := range k.old.Platforms {
		was := &k.old.Platforms[i]
		if after[was.Source] == nil {
			k.add(true, key{mail: true, undo: func(p *policy.Policy) { p.Platforms = append(slices.Clone(p.Platforms), *was) }}, "platform", i)
		}
	}
	for i := range k.new.Platforms {
		is := &k.new.Platforms[i]
		was := before[is.Source]
		if was == nil {
			k.add(true, key{mail: true, undo: func(p *policy.Policy) {
				p.Platforms = slices.DeleteFunc(slices.Clone(p.Platforms), func(o policy.Platform) bool { return o.Source == is.Source })
			}}, "platform", i)
			continue
		}
		field(k, i, was, "owner_ids", func(p *policy.Platform) *[]peer.ID { return &p.OwnerIDs })
		field(k, i, was, "allowed_ids", func(p *policy.Platform) *[]peer.ID { return &p.AllowedIDs })
		field(k, i, was, "trust", func(p *policy.Platform) *terms.Trust { return &p.Trust })
		field(k, i, was, "actions", func(p *policy.Platform) *[]terms.Action { return &p.Actions })
		k.chats(i, was, is)
	}
}

func bySource(p *policy.Policy) map[string]*policy.Platform {
	out := map[string]*policy.Platform{}
	for i := len(p.Platforms) - 1; i >= 0; i-- {
		out[p.Platforms[i].Source] = &p.Platforms[i]
	}
	return out
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
	before, after := chatsOf(was), chatsOf(is)
	nthOld, nthNew := nthChats(k.old, is.Source), nthChats(k.new, is.Source)
	for _, id := range chatIDs(was, is) {
		from, to := before[id], after[id]
		if from != nil && to != nil && reflect.DeepEqual(*from, *to) {
			continue
		}
		it := key{name: "platform.chat " + string(id), undo: func(p *policy.Policy) {
			edit(p, is.Source, func(pl *policy.Platform) {
				pl.Chats = slices.DeleteFunc(slices.Clone(pl.Chats), func(c policy.Chat) bool { return c.ID == id })
				if from != nil {
					pl.Chats = append(pl.Chats, *from)
				}
			})
		}}
		it.file, it.line = k.new.Name, k.new.Line("platform.chat", nthNew[id])
		if to == nil {
			it.file, it.line = k.old.Name, k.old.Line("platform.chat", nthOld[id])
		}
		k.list = append(k.list, it)
	}
}

// chatIDs returns the chats of both platforms, either of which may be nil.
func chatIDs(list ...*policy.Platform) (ids []peer.ID) {
	seen := map[peer.ID]bool{}
	for _, pl := range list {
		if pl == nil {
			continue
		}
		for i := range pl.Chats {
			if id := pl.Chats[i].ID; !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// chatsOf returns the chats of a platform, which may be nil, by their ids.
func chatsOf(pl *policy.Platform) map[peer.ID]*policy.Chat {
	out := map[peer.ID]*policy.Chat{}
	if pl == nil {
		return out
	}
	for i := len(pl.Chats) - 1; i >= 0; i-- {
		out[pl.Chats[i].ID] = &pl.Chats[i]
	}
	return out
}

// nthChats returns how many [[platform.chat]] stand in the file before each chat of a
// platform.
func nthChats(p *policy.Policy, source string) map[peer.ID]int {
	out, n := map[peer.ID]int{}, 0
	for i := range p.Platforms {
		for j := range p.Platforms[i].Chats {
			if p.Platforms[i].Source == source {
				out[p.Platforms[i].Chats[j].ID] = n
			}
			n++
		}
	}
	return out
}
