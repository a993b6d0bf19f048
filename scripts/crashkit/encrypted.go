package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keyed are the file systems with an encrypted directory (fscrypt(7)), in which the queues lie:
// the one that pulse-deploy(7) recommends.
var keyed = map[string]string{"ext4, encrypted": "sealed"}

// unlock gives a file system the key of its encrypted directory, and makes that directory if
// there is none. What a power cut leaves is another file system, which has no key.
func unlock(dir string) error {
	arg := struct {
		unix.FscryptAddKeyArg
		raw [64]byte
	}{} // the key is zeros: nobody needs to be kept out
	arg.Key_spec.Type = unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER
	arg.Raw_size = uint32(len(arg.raw))
	mnt, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer mnt.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, mnt.Fd(), unix.FS_IOC_ADD_ENCRYPTION_KEY, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		return fmt.Errorf("FS_IOC_ADD_ENCRYPTION_KEY: %w", errno)
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	policy := unix.FscryptPolicyV2{
		Version:                   unix.FSCRYPT_POLICY_V2,
		Contents_encryption_mode:  unix.FSCRYPT_MODE_AES_256_XTS,
		Filenames_encryption_mode: unix.FSCRYPT_MODE_AES_256_CTS,
		Flags:                     unix.FSCRYPT_POLICY_FLAGS_PAD_32,
		Master_key_identifier:     [16]byte(arg.Key_spec.U[:16]), // the kernel's answer
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.FS_IOC_SET_ENCRYPTION_POLICY, uintptr(unsafe.Pointer(&policy))); errno != 0 {
		return fmt.Errorf("FS_IOC_SET_ENCRYPTION_POLICY: %w", errno)
	}
	return nil
}
