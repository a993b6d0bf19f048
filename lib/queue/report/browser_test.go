package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// browser is a Chromium without a window, spoken to by its DevTools protocol over a pipe.
type browser struct {
	t        *testing.T
	to       *os.File
	from     *bufio.Reader
	last     int
	session  string
	requests []string // since the page was opened
	proxied  chan string
}

// openBrowser starts a browser. All that it would get from a network it asks of a proxy, which
// counts that and knows nothing.
func openBrowser(t *testing.T) *browser {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium, which scripts/test installs: the page was not looked at")
	}
	b := &browser{t: t, proxied: make(chan string, 1000)}
	proxy := b.proxy()
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--proxy-server="+proxy, "--proxy-bypass-list=<-loopback>",
		"--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it leaves files there
	// All of its processes have this pipe, so that Wait returns once none of them writes to its
	// directory any more.
	cmd.Stderr, cmd.WaitDelay = struct{ io.Writer }{io.Discard}, 10*time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b.to, b.from = to, bufio.NewReader(from)
	stuck := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		to.Close() // which it takes as its end
		from.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		stuck.Stop()
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// proxy notes what is asked of it.
func (b *browser) proxy() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				if !strings.Contains(line, "google") { // the browser's own errands
					b.proxied <- strings.TrimSpace(line)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

type message struct {
	ID     int
	Method string
	Params struct{ Request struct{ URL string } }
	Result map[string]any
	Error  *struct{ Message string }
}

// call calls a method and returns its result. What happens meanwhile is noted.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.last++
	out, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.session == "" {
		out = []byte(strings.Replace(string(out), `,"sessionId":""`, "", 1))
	}
	if _, err := b.to.Write(append(out, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.next()
		if m.ID == b.last {
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error.Message)
			}
			return m.Result
		}
	}
}

// next reads the next message.
func (b *browser) next() (m message) {
	b.t.Helper()
	raw, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(raw[:len(raw)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
	if m.Method == "Network.requestWillBeSent" {
		b.requests = append(b.requests, m.Params.Request.URL)
	}
	return m
}

// open opens a page as a person would, from a file, and waits until it is there.
func (b *browser) open(page []byte) {
	b.t.Helper()
	name := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(name, page, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.requests = nil
	b.drain()
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: name}).String()})
	for b.next().Method != "Page.loadEventFired" {
	}
}

// look sets the size of the window and the scheme of colours.
func (b *browser) look(width int, scheme, media string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	})
}

// eval runs a function in the page and reads what it returns.
func (b *browser) eval(script string, into any) {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": "JSON.stringify((" + script + ")())", "returnByValue": true})
	text, ok := r["result"].(map[string]any)["value"].(string)
	if !ok {
		b.t.Fatalf("%v", r)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowser: what a browser makes of a page. It is one browser, because it starts slowly.
func TestBrowser(t *testing.T) {
	b := openBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"bad": testBrowserSees, "strangers": testPageOfStrangersInBrowser, "looks": testPageInBrowser,
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			test(t, b)
		})
	}
}

// skeleton returns the elements of the page with the names of their attributes, and the
// values of those that may have only one.
const skeleton = `() => [...document.querySelectorAll("*")].map(e => e.localName + [...e.attributes].map(
	a => " " + a.name + (["class", "scope", "content", "http-equiv", "role", "lang"].includes(a.name) ? "=" + a.value : "")).join(""))`

// testPageOfStrangersInBrowser: whatever strangers write, a browser sees the elements and
// attributes of a page on which nobody wrote anything bad, and asks nobody for anything.
func testPageOfStrangersInBrowser(t *testing.T, b *browser) {
	var calm, wild []string
	b.open(month30(calmText).page())
	b.eval(skeleton, &calm)
	b.open(month30(wildText).page())
	b.eval(skeleton, &wild)
	if len(calm) < 500 || len(calm) != len(wild) {
		t.Errorf("%d elements, want %d", len(wild), len(calm))
	}
	for i := range min(len(calm), len(wild)) {
		if calm[i] != wild[i] {
			t.Fatalf("element %d is %s, want %s", i, wild[i], calm[i])
		}
	}
	var extent struct{ Width, Scroll int }
	b.look(360, "light", "screen")
	b.eval(`() => ({Width: innerWidth, Scroll: document.scrollingElement.scrollWidth})`, &extent)
	if extent.Width != 360 || extent.Scroll > 360 {
		t.Errorf("a page of strangers is %d wide in a window of %d", extent.Scroll, extent.Width)
	}
	b.quiet()
}

// drain returns what was asked of the proxy since it was drained.
func (b *browser) drain() (lines []string) {
	for {
		select {
		case line := <-b.proxied:
			lines = append(lines, line)
		default:
			return lines
		}
	}
}

// quiet demands that nothing was asked for except the page itself.
func (b *browser) quiet() {
	b.t.Helper()
	if lines := b.drain(); len(b.requests) != 1 || len(lines) > 0 {
		b.t.Errorf("asked for %q, and of the proxy for %q", b.requests, lines)
	}
}

// testBrowserSees: a page that does what pages of pulse must not is caught, and the policy of
// a page of pulse stops what would be in it all the same.
func testBrowserSees(t *testing.T, b *browser) {
	const bad = `<img src="http://evil.example/a"><script>document.title = "bad"</script><p style="position:fixed;width:2000px">x</p>`
	var got struct {
		Title string
		Wide  int
	}
	const found = `() => ({Title: document.title, Wide: document.querySelector("p[style]").offsetWidth})`
	b.open([]byte("<!doctype html>" + bad))
	b.eval(found, &got)
	lines := b.drain()
	if len(b.requests) != 2 || !slices.Contains(lines, "GET http://evil.example/a HTTP/1.1") || got.Title != "bad" || got.Wide != 2000 {
		t.Errorf("a bad page is not seen: %q, %q, %+v", b.requests, lines, got)
	}
	page := string(month30(calmText).page())
	b.open([]byte(strings.Replace(page, "<header>", bad+"<header>", 1)))
	b.eval(found, &got)
	if lines := b.drain(); len(lines) > 0 || got.Title == "bad" || got.Wide == 2000 {
		t.Errorf("the policy of the page allows it: %q, %+v", lines, got)
	}
}

// contrasts returns the text that has too little contrast with what is behind it (WCAG 2.2,
// 1.4.3), and the colours of the page.
const contrasts = `() => {
	const rgb = c => c.match(/[0-9.]+/g).map(Number)
	const lum = c => { const [r, g, b] = rgb(c).slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05) }
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c }; return "rgb(255, 255, 255)" }
	const low = [], seen = new Set()
	for (const e of document.body.querySelectorAll("*")) {
		const style = getComputedStyle(e), under = behind(e)
		if ([...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) && e.localName != "title") {
			seen.add(style.color)
			if (ratio(style.color, under) < 4.5) low.push(e.localName + "." + e.className + " " + style.color + " on " + under)
		}
		if (e.localName == "rect") {
			const paint = style.fill == "none" ? style.stroke : style.fill
			seen.add(paint)
			if (ratio(paint, under) < 3) low.push("rect " + paint + " on " + under)
		}
	}
	return {Low: low, Colours: [...seen, behind(document.body)].sort()}
}`

// testPageInBrowser: light and dark, narrow, wide and on paper, all of the page can be read.
func testPageInBrowser(t *testing.T, b *browser) {
	b.open(month30(calmText).page())
	colours := map[string]string{}
	for _, look := range []struct {
		width         int
		scheme, media string
	}{{360, "light", "screen"}, {360, "dark", "screen"}, {768, "light", "screen"}, {1280, "light", "screen"}, {1280, "dark", "screen"}, {700, "light", "print"}} {
		name := fmt.Sprintf("%s-%s-%d", look.media, look.scheme, look.width)
		b.look(look.width, look.scheme, look.media)
		var got struct {
			Low, Colours, Out []string
			Width, Scroll     int
		}
		b.eval(contrasts, &got)
		b.eval(`() => ({Width: innerWidth, Scroll: document.scrollingElement.scrollWidth,
			Out: [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > innerWidth + .5).map(e => e.localName + "." + e.className)})`, &got)
		if len(got.Low) > 0 {
			t.Errorf("%s: too little contrast: %q", name, got.Low)
		}
		if got.Width != look.width || got.Scroll > look.width || len(got.Out) > 0 {
			t.Errorf("%s: %d wide in a window of %d: %q", name, got.Scroll, got.Width, got.Out)
		}
		colours[name] = strings.Join(got.Colours, " ")
		if dir := os.Getenv("PULSE_SCREENSHOTS"); dir != "" { // to look at
			shot := b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true})
			png, _ := base64.StdEncoding.DecodeString(shot["data"].(string))
			if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if a, b := colours["screen-light-360"], colours["screen-dark-360"]; a == "" || a == b {
		t.Errorf("light and dark have the same colours: %s", a)
	}
	b.quiet()
}
