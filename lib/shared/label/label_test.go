package label

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pulse/lib/shared/record"
)

// TestSetGrows: what gave a label first stays, the order is fixed, and a set that was handed
// out does not change.
func TestSetGrows(t *testing.T) {
	first := Use{Label: Untrusted, By: "external_verified"}
	private := Use{Label: Private, By: "fs.read", Task: "9f86d081884c7d659a2feaa0c55ad015", At: time.Unix(1795244400, 0).UTC()}
	one, added := Set(nil).With(first)
	if !added {
		t.Error("nothing was added")
	}
	two, _ := one.With(private)
	if again, added := two.With(Use{Label: Private, By: "other"}); added || !reflect.DeepEqual(again, two) {
		t.Errorf("%v became %v", two, again)
	}
	if len(one) != 1 || !slices.Equal(two.Words(), []string{"private", "untrusted"}) {
		t.Errorf("%v and %v", one, two)
	}
	if got := one.Union(two); !reflect.DeepEqual(got, two) || two.Use(Private).By != "fs.read" || one.Use(Private) != nil {
		t.Errorf("%v", got)
	}
	want := "private (fs.read in 9f86d081884c7d659a2feaa0c55ad015), untrusted (external_verified)"
	if two.String() != want {
		t.Errorf("%s", two)
	}
	rec, err := record.Parse(append(two.Append([]byte(`{"labels":`)), '}'), "labels")
	if err != nil {
		t.Fatal(err)
	}
	err = rec.Decode("labels", func(v record.Value) error {
		back, err := Decode(v)
		if !reflect.DeepEqual(back, two) {
			t.Errorf("%v came back as %v", two, back)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDecodeUnknown(t *testing.T) {
	if _, err := Decode(`[{"label":"secret"}]`); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}
