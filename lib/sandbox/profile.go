package sandbox

// Profile is what a stage keeps, besides what is open already. The zero Profile keeps
// nothing: no file can be opened, no socket made, no program started.
type Profile struct {
	Read  []string // files, and directories with all below
	Write []string // directories with all below, to read, make, change and remove
	DNS   bool     // questions to name servers: UDP, and TCP to port 53
}

// Pipe is for what works on its standard streams and looks at some files besides:
// classify at none, authorize at the workspace and programs of its policy.
func Pipe(files ...string) Profile { return Profile{Read: files} }

// Source is for fetch: the files a source is read from, none for a connection that is
// open, and the name servers if signatures are verified.
func Source(dns bool, files ...string) Profile {
	p := Profile{Read: files, DNS: dns}
	if dns {
		// What the resolver of Go reads, again every few seconds.
		p.Read = append([]string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"}, files...)
	}
	return p
}

// Queue is for what works on a queue, starts nothing, and looks at some files besides.
func Queue(dir string, files ...string) Profile { return Profile{Write: []string{dir}, Read: files} }
