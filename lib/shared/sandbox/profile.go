package sandbox

// Profile is what a stage keeps, besides what is open already. The zero Profile keeps
// nothing: no file can be opened, no socket made, no program started.
type Profile struct {
	Read  []string // files, and directories with everything below
	Write []string // directories with everything below, to read, create, change and remove
	DNS   uint16   // the port of the name servers that may be asked, over UDP and TCP; 0: none
	Way   uint16   // the port to which connections are made for those that are accepted; 0: none
}

// Pipe returns the profile of a stage that works on its standard streams and reads some
// other files: classify none, authorize the workspace and programs of its policy.
func Pipe(files ...string) Profile { return Profile{Read: files} }

// Source returns the profile of fetch: the files of a source, none if that is an open
// connection, and the port of the name servers if signatures are verified, else 0.
func Source(dns uint16, files ...string) Profile {
	p := Profile{Read: files, DNS: dns}
	if dns != 0 {
		// Go's resolver reads these again every few seconds.
		p.Read = append([]string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"}, files...)
	}
	return p
}

// Queue returns the profile of a command that works on a queue, starts nothing, and reads
// some other files.
func Queue(dir string, files ...string) Profile { return Profile{Write: []string{dir}, Read: files} }

// Way returns the profile of a way out, which takes connections at a socket that is open already
// and makes one to a port of a host for each.
func Way(port uint16) Profile {
	p := Source(53)
	p.Way = port
	return p
}
