package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestOutlet: what goes in comes out, and a write does not wait for the reader.
func TestOutlet(t *testing.T) {
	r, w := io.Pipe()
	o := newOutlet(w)
	var want bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := make([]byte, rng.IntN(20_000))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		want.Write(b)
		if _, err := o.Write(b); err != nil { // nobody reads yet
			t.Fatal(err)
		}
	}
	got := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r)
		got <- b
	}()
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
	w.Close()
	if b := <-got; !bytes.Equal(b, want.Bytes()) {
		t.Errorf("%d bytes came out, %d went in", len(b), want.Len())
	}
}

// TestOutletEnds: who stops reading ends the writer.
func TestOutletEnds(t *testing.T) {
	r, w := io.Pipe()
	gone := errors.New("gone")
	r.CloseWithError(gone)
	o := newOutlet(w)
	var err error
	for err == nil {
		_, err = o.Write(make([]byte, 1000))
	}
	if !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := o.Close(t.Context()); !errors.Is(err, gone) {
		t.Error(err)
	}
	// So does a signal, whatever is left.
	_, w = io.Pipe()
	o = newOutlet(w)
	o.Write(make([]byte, 1000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Nothing was written: nothing comes out.
	o = newOutlet(io.Discard)
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
