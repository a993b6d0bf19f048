package cmdline

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"github.com/urfave/cli/v2"
)

// idling is the member of App.Metadata that Idles makes.
const idling = "idles"

// Idles returns the metadata of an app in which these commands ("" is the app itself) change
// nothing until the first bytes of their input have come. Until then the kernel ends them
// when a signal comes, because catching signals takes three threads, which is a twelfth of
// what a stage costs that finds no input.
func Idles(commands ...string) map[string]any { return map[string]any{idling: commands} }

func idles(app *cli.App, cmd *cli.Command) bool {
	name := ""
	if cmd != nil {
		name = cmd.Name
	}
	commands, _ := app.Metadata[idling].([]string)
	return slices.Contains(commands, name)
}

// catching leaves the signals that end a command to the kernel until the function that it
// returns is called. From then on the first of them is handed to caught.
func catching(caught func(os.Signal)) (begin func()) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	were := make([]action, len(signals))
	for i, sig := range signals {
		were[i] = setAction(sig, action{})
	}
	return sync.OnceFunc(func() {
		for i, sig := range signals {
			setAction(sig, were[i]) // signal.Notify relies on what the runtime set
		}
		received := make(chan os.Signal, 1)
		signal.Notify(received, signals...)
		go func() {
			sig := <-received
			byDefault(signals...) // a second signal ends a command that the first did not
			caught(sig)
		}()
	})
}

// signalled is the cause with which a signal cancels the actions' context.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// die ends the process by the signal, as if it had not been caught.
func die(sig os.Signal) {
	byDefault(sig)
	_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	select {}
}

// byDefault leaves signals to the kernel. Go's own default for SIGQUIT is a trace and
// the exit status 2, and for a signal that the parent ignored it is to ignore it again.
func byDefault(signals ...os.Signal) {
	signal.Reset(signals...)
	for _, sig := range signals {
		setAction(sig, action{})
	}
}

// action is what is done about a signal. It is larger than a struct sigaction, and zero is
// SIG_DFL.
type action [8]uint64

func setAction(sig os.Signal, now action) (was action) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig.(syscall.Signal)),
		uintptr(unsafe.Pointer(&now)), uintptr(unsafe.Pointer(&was)), 8, 0, 0)
	return was
}
