module pulse

go 1.26.5

require (
	github.com/emersion/go-imap/v2 v2.0.0-beta.8 // pulse-fetch; a beta, pinned on purpose: read lib/fetch/mailbox/guard.go before an update
	github.com/emersion/go-message v0.18.2 // charsets and encoded words of mail
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6 // AUTHENTICATE PLAIN
	github.com/jackc/pgx/v5 v5.12.0 // lib/queue/pgstore: the protocol of PostgreSQL, of which only pgconn is linked
	github.com/landlock-lsm/go-landlock v0.11.0 // lib/shared/sandbox: files and TCP ports
	github.com/mattn/go-isatty v0.0.24 // is /dev/tty one
	github.com/pelletier/go-toml/v2 v2.4.3 // the policy file
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // lib/authorize/settings: JSON with comments, as clients keep their settings
	github.com/urfave/cli/v2 v2.27.7 // the wiring behind lib/shared/cmdline
	golang.org/x/crypto v0.58.0 // lib/approve/sshsig: refuses signatures that ssh-keygen would refuse; ed25519 of go-msgauth
	golang.org/x/net v0.62.0 // the HTML tokenizer
	golang.org/x/sys v0.49.0 // flock, syncfs, poll, termios, prctl
	golang.org/x/text v0.43.0 // names that a file system takes for each other; character sets of go-message
)

// For tests only.
require (
	github.com/creack/pty v1.1.24 // pulse-approve at a real terminal
	github.com/elastic/go-seccomp-bpf v1.6.0 // the oracle of the filter of calls
	github.com/emersion/go-msgauth v0.7.0 // signs mail; the oracle of lib/classify/dkimcheck and authres
	github.com/emersion/go-smtp v0.24.0 // the sink that a sender submits to
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // the oracle of the record scanner
	github.com/rogpeppe/go-internal v1.16.0 // txtar sessions
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // the oracle of lib/shared/schema
)

require (
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect; of pgx: .pgpass
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect; of pgx: pg_service.conf
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	golang.org/x/tools v0.51.0 // indirect
	kernel.org/pub/linux/libs/security/libcap/psx v1.2.77 // indirect; of go-landlock: a call in every thread
)
