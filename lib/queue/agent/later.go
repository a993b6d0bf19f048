package agent

// later reports whether the status of a provider's answer may be another one in a while.
func later(status int64) bool { return status == 408 || status == 429 || status >= 500 && status < 600 }
