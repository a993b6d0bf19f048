package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unknown reports a key that no policy has, with the one that was probably meant: that
// name in another table, or one like it in the same table or any other.
func (v *validator) unknown(key []string, line int) error {
	every, in := keysBelow(reflect.TypeFor[file](), nil), key
	for len(in) > 0 {
		if in = in[:len(in)-1]; known(in) {
			break
		}
	}
	name := key[len(in)]
	var here, all, places []string
	for _, k := range every {
		last := k[len(k)-1]
		if len(k) == len(in)+1 && same(k[:len(in)], in) {
			here = append(here, last)
		} else if k[0] == "flow" { // confirm and deny mean something there that they mean nowhere else
			continue
		} else if last == name && len(key) == len(in)+1 {
			places = append(places, v.place(k))
		}
		all = append(all, last)
	}
	if places != nil {
		return v.unknownKey(line, key, "it belongs "+strings.Join(places, ", or "))
	}
	like := nearest(name, here)
	if like == "" {
		if like = nearest(name, all); like != "" {
			i := slices.IndexFunc(every, func(k []string) bool { return k[len(k)-1] == like })
			like = path(every[i])
		}
	}
	if like == "" {
		return v.unknownKey(line, key, "want one of "+strings.Join(here, ", "))
	}
	return v.unknownKey(line, key, "did you mean "+like+"?")
}

// unknownKey has what may stand there as its hint.
func (v *validator) unknownKey(line int, key []string, hint string) error {
	err := v.failAt(line, path(key), "unknown key")
	var e *invalid
	if errors.As(err, &e) {
		e.hint = hint
	}
	return err
}

// place says where a key may stand.
func (v *validator) place(key []string) string {
	table := key[:len(key)-1]
	if len(table) > 0 {
		f, _ := fieldAt(table)
		open, shut := "[", "]"
		if f.Type.Kind() == reflect.Slice {
			open, shut = "[[", "]]"
		}
		return fmt.Sprintf("below %s%s%s", open, path(table), shut)
	}
	for _, e := range v.lines.outline.Entries {
		if e.Kind == isTable || e.Kind == isTables {
			return fmt.Sprintf("to the top of the file, before [%s] in line %d",
				strings.Join(e.Names, "."), e.Line)
		}
	}
	return "to the top of the file"
}

// keysBelow returns every key that a policy may have. * stands for names that the user
// chooses.
func keysBelow(t reflect.Type, in []string) (list [][]string) {
	switch t = element(t); t.Kind() {
	case reflect.Map:
		key := append(slices.Clone(in), "*")
		if inner := element(t.Elem()); inner.Kind() == reflect.Struct {
			list = append(list, keysBelow(inner, key)...)
		}
	case reflect.Struct:
		for f := range t.Fields() {
			key := append(slices.Clone(in), f.Tag.Get("toml"))
			list = append(append(list, key), keysBelow(f.Type, key)...)
		}
	}
	return list
}

func same(pattern, key []string) bool {
	return slices.EqualFunc(pattern, key, func(p, k string) bool { return p == "*" || p == k })
}

// nearest returns the word of a list that a misspelt one is most like, or nothing if it is
// like none.
func nearest(word string, list []string) (like string) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	least := 1 + max(1, min(len(word), 12)/3)
	for _, w := range list {
		d := distance(plain(word), plain(w))
		if len(word) >= 4 && strings.HasPrefix(w, plain(word)) {
			d = min(d, 1)
		}
		if d < least {
			like, least = w, d
		}
	}
	return like
}

// distance counts the letters to be put in, taken out, replaced or swapped with the next
// one to make a into b.
func distance(a, b string) int {
	const most = 40
	if len(a) > most || len(b) > most {
		return most
	}
	row := make([][]int, len(a)+1)
	for i := range row {
		row[i] = make([]int, len(b)+1)
		for j := range row[i] {
			switch {
			case i == 0 || j == 0:
				row[i][j] = i + j
			case a[i-1] == b[j-1]:
				row[i][j] = row[i-1][j-1]
			default:
				row[i][j] = 1 + min(row[i-1][j], row[i][j-1], row[i-1][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					row[i][j] = min(row[i][j], 1+row[i-2][j-2])
				}
			}
		}
	}
	return row[len(a)][len(b)]
}
