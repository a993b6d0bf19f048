package compare

import (
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
)

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
