package spool

import "time"

// Signs returns when the queue was made, and when a source's position was last
// moved; zero where none ever was.
func (s *Spool) Signs() (made, moved time.Time, err error) {
	st, err := s.disk.Stat(formatFile)
	if err != nil {
		return made, moved, err
	}
	err = s.disk.Names(positionDir, func(name string) error {
		st, err := s.disk.Stat(positionDir + "/" + name)
		if st.Mtime.After(moved) {
			moved = st.Mtime
		}
		return err
	})
	return st.Mtime, moved, err
}
