package queue

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// FuzzOrigin: whatever stands in the labels of a thing, nothing is read as known that does not name
// all asks, what is written again is the same, and a union has no less.
func FuzzOrigin(f *testing.F) {
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	f.Add("made", a, "made", b+" "+a)
	f.Add("kept", a, "kept", "")
	f.Add("unreadable", "", "", a+"  x")
	f.Add("kept", strings.Repeat(a+" ", 3), "made", "\x00")
	f.Fuzz(func(t *testing.T, by, from, by2, from2 string) {
		set := label.Set{{Label: label.Private, By: by, Task: from}, {Label: label.Untrusted, By: by2, Task: from2}}
		for n := range 3 {
			o := originIn(set[:n])
			if o.None() != (n == 0) || (o.Labels.Use(label.Untrusted) != nil) != (n == 2) || (o.Labels.Use(label.Private) == nil) != (n == 0 || by == kept) {
				t.Fatalf("%v: %+v", set[:n], o)
			}
			named := 0
			for _, id := range slices.Concat(strings.Fields(from), strings.Fields(from2)) {
				if task.ValidID(id) {
					named++
				}
			}
			if n > 0 && named == 0 && !o.Lost {
				t.Errorf("%v: it is known: %+v", set[:n], o)
			}
			if n == 0 {
				continue
			}
			v, err := record.Parse(store.LabelsFile(o.set(time.Unix(1795244400, 0))))
			if err != nil {
				t.Fatal(err)
			}
			again, err := store.DecodeLabels(v.Value())
			got := originIn(again)
			if o.Lost {
				got.Roots = o.Roots // nobody needs them any more
			}
			if err != nil || got.Lost != o.Lost || !slices.Equal(got.Roots, o.Roots) || !reflect.DeepEqual(got.Labels.Words(), o.Labels.Words()) {
				t.Errorf("%+v came back as %+v, %v", o, got, err)
			}
			all := Origin{Roots: []string{b}}.Union(o)
			if all.Lost != o.Lost && len(o.Roots) < maxRoots || !all.Lost && !slices.Contains(all.Roots, b) || len(all.Labels) != len(o.Labels) {
				t.Errorf("%+v became %+v", o, all)
			}
		}
	})
}

// TestManyRoots: of what more asks had a part in than an Origin remembers nobody is known.
func TestManyRoots(t *testing.T) {
	o := Origin{}
	for i := range maxRoots {
		o = o.Union(Origin{Roots: []string{fmt.Sprintf("%032x", i)}})
	}
	if len(o.Roots) != maxRoots || o.Lost {
		t.Errorf("%+v", o)
	}
	if o = o.Union(Origin{Roots: []string{fmt.Sprintf("%032x", maxRoots)}}); !o.Lost || len(o.Roots) != maxRoots {
		t.Errorf("%+v", o)
	}
	if o = (Origin{}).Union(Unknown()); o.None() || len(o.Labels) != len(label.All) {
		t.Errorf("%+v", o)
	}
}
