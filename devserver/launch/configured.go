package launch

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// configured returns the server that the client configuration names, or nil when it names none.
func configured(namespace string) (*Server, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return nil, unusableConfiguration(err)
	}
	if profile.Address == "" {
		return nil, nil
	}
	namespace = cmp.Or(profile.Namespace, namespace)
	return &Server{
		Address:   profile.Address,
		Namespace: namespace,
		clientOptions: func() (client.Options, error) {
			options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
			if err != nil {
				return client.Options{}, unusableConfiguration(err)
			}
			options.Namespace = namespace
			return options, nil
		},
	}, nil
}

func unusableConfiguration(err error) error {
	return fmt.Errorf("the Temporal client configuration (TEMPORAL_* environment variables and temporal.toml) can't be used: %w; correct it, or take it away to have a devserver started",
		err)
}
