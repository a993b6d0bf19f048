//go:build !linux

package linux

var _ = pulse_needs_Linux_for_its_sandbox_its_file_locks_and_who_is_at_a_socket
