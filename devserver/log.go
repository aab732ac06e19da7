package main

import (
	"fmt"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// serverLog is the log of the Temporal server, on standard error.
type serverLog struct {
	log.Logger
	level zap.AtomicLevel
}

func newServerLog(levelName string) (serverLog, error) {
	level := zap.NewAtomicLevelAt(log.ParseZapLevel(levelName))
	logger, err := zap.Config{
		Level:            level,
		Encoding:         "console",
		EncoderConfig:    log.DefaultZapEncoderConfig,
		OutputPaths:      []string{"stderr"},
		ErrorOutputPaths: []string{"stderr"},
		DisableCaller:    true, // The server adds its own.
		// Forty frames of interceptors at every error, and the error names its place anyway.
		DisableStacktrace: true,
	}.Build()
	if err != nil {
		return serverLog{}, fmt.Errorf("cannot write a log to standard error: %w", err)
	}
	return serverLog{Logger: log.NewZapLogger(logger), level: level}, nil
}

// quieten leaves out what services that stop say about each other's absence, unless the log was to tell everything.
func (l serverLog) quieten() {
	if l.level.Level() >= zapcore.WarnLevel {
		l.level.SetLevel(zapcore.FatalLevel)
	}
}
