package main
import ("testing";"os";"time";"fmt";"strings";"path/filepath";"pulse/lib/spool";"pulse/lib/queue";"pulse/lib/record")
func TestZZScale(t *testing.T){
	if os.Getenv("ZZ")=="" { return }
	dir := filepath.Join(t.TempDir(),"q")
	s, err := spool.OpenOrCreate(dir)
	if err!=nil {t.Fatal(err)}
	N := 50000
	b := queue.NewBatch(s,false,1<<30,time.Now)
	var ids []string
	for i:=range N {
		rec, err := record.Parse([]byte(fmt.Sprintf(`{"message":{"source":"s","id":"<%d@t>","received":"2026-11-21T06:00:00Z","text":%q},"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"authenticated_owner","why":""},"decision":{"action":"read_public","outcome":"allow","rule":"r","reason":"allowed","why":""}}`, i, strings.Repeat("x ",500))), queue.Members...)
		if err!=nil {t.Fatal(err)}
		if err := b.Put(rec); err!=nil {t.Fatal(err)}
		if b.Full() || i==N-1 { if err:=b.Commit(func([]byte) error {return nil}); err!=nil {t.Fatal(err)} }
	}
	s.View(func(v queue.View) error { return v.Open(func(e queue.Entry)(bool,error){ ids=append(ids,e.ID); return true,nil}) })
	for len(ids)>0 {
		n := min(500,len(ids))
		err := s.Update(func(tx queue.Tx) error { for _, id := range ids[:n] { if _,err := queue.Cancel(tx,id,"me",time.Now()); err!=nil {return err} }; return nil })
		if err!=nil {t.Fatal(err)}
		ids=ids[n:]
	}
	for range 3 { t0:=time.Now()
	done := make(chan time.Duration)
	stop := make(chan bool)
	go func(){ p,_ := spool.Open(dir); w := time.Duration(0); for { select { case <-stop: done<-w; return; default: }; u:=time.Now(); p.Update(func(queue.Tx) error {return nil}); w=max(w,time.Since(u)); time.Sleep(time.Millisecond) } }()
	if err := s.Snapshot(dir+"-copy"); err!=nil {t.Fatal(err)}
	close(stop)
	t.Log("snapshot of 50k closed tasks (100k files)", time.Since(t0), "longest wait of a writer", <-done) }
}
