package disktest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// PowerCut leaves what a disk may hold after the power went.
func (d *FS) PowerCut(r *rand.Rand) {
	keep := r.IntN(len(d.pending) + 1)
	for i, op := range d.pending {
		if d.Ordered && i < keep || !d.Ordered && r.IntN(2) == 0 {
			d.put(d.durable, op)
		}
	}
	d.pending = nil
	d.names = maps.Clone(d.durable)
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		d.names[n].forget(r)
	}
}

// Sector is how many bytes a disk writes whole or not at all.
const Sector = 512

// forget picks one of the contents the disk may have: writes since the last sync
// came through in part, and not in their order.
func (i *inode) forget(r *rand.Rand) {
	versions := append([][]byte{i.durable}, i.unsaved...)
	last := r.IntN(len(versions))
	versions = versions[:last+1]
	b := make([]byte, len(versions[last]))
	for off := 0; off < len(b); off += Sector {
		end := min(off+Sector, len(b))
		// What a version does not have reads as zeros.
		if from := versions[r.IntN(last+1)]; r.IntN(2) == 0 {
			copy(b[off:end], versions[last][off:end])
		} else if off < len(from) {
			copy(b[off:end], from[off:min(end, len(from))])
		}
	}
	if grown := len(b) - len(i.durable); grown > 0 && r.IntN(3) == 0 {
		b = b[:len(i.durable)+r.IntN(grown)]
	}
	i.data, i.durable, i.unsaved = b, b, nil
}

func (d *FS) put(m map[string]*inode, op nameOp) {
	for n, i := range op {
		if i == nil {
			delete(m, n)
		} else {
			m[n] = i
		}
	}
}

// change makes a change of names visible, and durable some day.
func (d *FS) change(op nameOp) {
	d.put(d.names, op)
	d.pending = append(d.pending, op)
}

// commit makes the pending changes that want asks for durable, and with them, for
// the same names, what they replaced.
func (d *FS) commit(want func(name string) bool) {
	last := -1
	for i, op := range d.pending {
		for n := range op {
			if want(n) {
				last = i
			}
		}
	}
	var left []nameOp
	done := map[string]bool{}
	for i := len(d.pending) - 1; i >= 0; i-- {
		op := d.pending[i]
		hit := d.Ordered && i <= last
		for n := range op {
			hit = hit || want(n)
		}
		rest := nameOp{}
		for n, ino := range op {
			switch {
			case done[n]:
			case hit:
				done[n] = true
				d.put(d.durable, nameOp{n: ino})
			default:
				rest[n] = ino
			}
		}
		if len(rest) > 0 {
			left = append(left, rest)
		}
	}
	slices.Reverse(left)
	d.pending = left
}

func (i *inode) set(b []byte, mtime time.Time) {
	i.data, i.clean = b, false
	i.unsaved = append(i.unsaved, b)
	i.mtime = mtime
}

func (i *inode) sync() {
	if !i.clean {
		i.durable, i.unsaved = i.data, nil
	}
}
