package policy

import (
	"strings"
	"sync"
)

// Interpreter reports whether a program with this base name runs other programs, or
// commands from its arguments or input. To list such a program would be to list every
// program. A version after the name (python3.11) does not matter.
//
// The list can't be complete, because programs grow options. If you have to be certain,
// leave exec.mode at deny.
func Interpreter(base string) bool {
	base = strings.ToLower(base)
	if _, tool, ok := strings.Cut(base, "-linux-gnu-"); ok {
		base = tool // x86_64-linux-gnu-gcc
	}
	name := strings.TrimRight(strings.TrimSuffix(base, "-static"), "0123456789.-_")
	all := interpreters()
	return all[base] || all[name] || all[versioned(base)] ||
		strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.so")
}

// versioned returns the part of a name before its version, for names that go on after
// the version, such as perl5.36-x86_64-linux-gnu. It returns nothing if that part is too
// short to mean anything.
func versioned(base string) string {
	i := strings.IndexAny(base, "0123456789")
	if i < 3 {
		return ""
	}
	return strings.TrimRight(base[:i], ".-_")
}

var interpreters = sync.OnceValue(func() map[string]bool { return set(listed) })

const listed = `
	sh ash bash csh dash elvish es fish ksh mksh nu oksh posh pwsh rbash rc rksh tcsh xonsh yash zsh
	busybox toybox coreutils
	env xargs parallel nice ionice nohup setsid stdbuf time timeout watch entr choom chrt taskset numactl prlimit
	setarch linux32 linux64 i386 x86_64 uname26 eatmydata faketime fakeroot fakechroot rlwrap expect unbuffer catchsegv
	sudo sudoedit doas su sg newgrp login runuser pkexec run0 setpriv capsh chpst softlimit envdir envuidgid setuidgid
	chroot unshare nsenter bwrap firejail proot flatpak snap systemd-nspawn machinectl lxc lxc-attach lxc-execute runc crun
	docker podman nerdctl crictl ctr kubectl helm vagrant
	systemd-run systemctl systemd-inhibit systemd-cat start-stop-daemon run-parts run-one at batch crontab cron anacron
	screen tmux byobu dtach abduco script flock lckdo logsave chronic ts dbus-run-session dbus-launch dbus-send busctl gdbus xvfb-run
	ssh slogin scp sftp ssh-add ssh-agent ssh-keygen ssh-copy-id sshpass autossh mosh rsh rlogin rsync rclone telnet ftp lftp
	nc ncat netcat socat openvpn pppd torsocks torify proxychains wget
	find fd fdfind locate updatedb awk gawk mawk nawk original-awk busybox-awk sed ed ex vi vim vim.basic vim.tiny rvim view rview vimdiff nvim
	emacs emacsclient nano rnano pico joe jed micro kak hx mcedit less lesspipe more most pg man apropos info pager
	tar bsdtar gtar star cpio pax zip unzip 7z 7za rar ar split sort tcpdump nmap m4 bc dc units pr troff groff zsoelim
	perl python pypy ruby jruby irb erb node nodejs deno bun qjs luajit lua tclsh wish php php-cgi php-fpm guile racket
	sbcl clisp ecl scheme mit-scheme ghc ghci runghc runhaskell ocaml erl elixir iex julia octave r rscript gnuplot
	java jshell jrunscript scala groovy kotlin clojure mono dotnet csharp swift dart go gofmt zig nim crystal v
	cc gcc g++ clang clang++ tcc cpp ld gold lld mold as rustc cargo rustup
	make gmake bmake cmake ctest ninja meson scons bazel just task rake gradle mvn ant tox nox
	npm npx yarn pnpm pip pipx uv uvx poetry conda gem bundle bundler composer cpan luarocks opam nix nix-shell guix
	apt apt-get aptitude dpkg dpkg-deb dpkg-reconfigure rpm yum dnf zypper pacman apk brew
	gdb gdbserver lldb strace ltrace perf valgrind bpftrace ftrace trace-cmd rr
	sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli gh glab hg svn cvs bzr fossil darcs jj tig lazygit
	mail mailx mutt neomutt alpine sendmail exim exim4 procmail maildrop fetchmail
	openssl gpg gpgsm mount umount fuse fusermount ip tc iptables modprobe insmod kexec ldconfig ldd
	xterm uxterm rxvt urxvt konsole gnome-terminal xdg-open x-terminal-emulator dmenu rofi osascript open
	runcon uclampset luit scriptlive msgexec msgfilter sdiff diff3 install patch cscope doveadm gpg-agent gpg-connect-agent msmtp
	systemd init agetty getty sulogin switch_root systemd-socket-activate systemd-mount vipw vigr fsck mkfs
	lli bugpoint llvm-reduce not valgrind.bin vgdb jdb jexec scalar
	git-shell git-upload-pack git-receive-pack cgi-fcgi latex pdflatex xelatex lualatex tex pdftex luatex xetex texlua ghostscript gs
`

func set(text string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(text) {
		all[w] = true
	}
	return all
}
