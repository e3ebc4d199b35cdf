// SPDX-License-Identifier: MIT

// A host program that uses goroutines, children, signals and a recovered fault.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"sync"
	"syscall"
)

func fault() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	var nothing *int
	return fmt.Sprint(*nothing)
}

func main() {
	var group sync.WaitGroup
	sums := make(chan int, 1000)
	for i := 0; i < 1000; i++ {
		group.Add(1)
		go func(number int) { defer group.Done(); sums <- number * number }(i)
	}
	group.Wait()
	close(sums)
	sum := 0
	for part := range sums {
		sum += part
	}
	fmt.Println(sum, fault())

	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-caught)

	out, err := exec.Command(os.Getenv("PROCESS_FACTS"), "x").CombinedOutput()
	fmt.Println(string(out), err)
	fmt.Println(exec.Command("sh", "-c", "exit 3").Run())
	fmt.Println(exec.Command("/nonexistent").Run())
	who, err := user.Lookup("root")
	fmt.Println(who.Uid, err)
	there, err := net.LookupHost("localhost")
	fmt.Println(len(there) > 0, err)
	fmt.Println("go done")
	os.Exit(0)
}
