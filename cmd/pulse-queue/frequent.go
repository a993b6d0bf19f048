package main

import (
	"cmp"
	"slices"
	"strings"
)

// frequent finds the most frequent of many words in bounded memory (Misra and Gries, 1982).
// While there are at most maxWords different ones, all counts are exact. Otherwise they are
// lower bounds, and a word that makes up more than one in maxWords of all is never lost.
type frequent struct {
	counts map[string]int
	lossy  bool
}

// The bounds of what is kept.
const (
	maxWords = 200
	maxWord  = 320 // bytes; an address is shorter
)

func (f *frequent) add(word string) {
	word = word[:min(len(word), maxWord)]
	if n, ok := f.counts[word]; ok {
		f.counts[word] = n + 1
		return
	}
	if len(f.counts) < maxWords {
		if f.counts == nil {
			f.counts = map[string]int{}
		}
		f.counts[strings.Clone(word)] = 1
		return
	}
	f.lossy = true
	for w, n := range f.counts {
		if n == 1 {
			delete(f.counts, w)
		} else {
			f.counts[w] = n - 1
		}
	}
}

// often is a word with how often it came.
type often struct {
	word  string
	times int
}

// top returns the n most frequent words, and how many others there are at least.
func (f *frequent) top(n int) (list []often, more int) {
	for w, times := range f.counts {
		list = append(list, often{w, times})
	}
	slices.SortFunc(list, func(a, b often) int { return cmp.Or(b.times-a.times, cmp.Compare(a.word, b.word)) })
	all := len(list)
	if f.lossy {
		all = maxWords + 1
	}
	list = list[:min(n, len(list))]
	return list, all - len(list)
}
