package tests

func runHost() {}
