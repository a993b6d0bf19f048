// Package compare says what one policy allows that another does not.
package compare

import "pulse/lib/shared/policy"

// Policies returns how the policy new differs from old.
func Policies(old, new *policy.Policy) ([]Difference, error) { return nil, nil }
