// SPDX-License-Identifier: MIT

// A program in Go that calls the driver from many goroutines while the runtime stops them by signals and collects garbage.
package main

/*
#cgo LDFLAGS: -lcuda
#include <stdint.h>
#include <stddef.h>
int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

func allocate(count int) (kept int) {
	for i := 0; i < count; i++ {
		var block C.uint64_t
		if C.cuMemAlloc_v2(&block, 4096) != 0 || C.cuMemFree_v2(block) != 0 {
			os.Exit(9)
		}
		kept += len(make([]byte, 1024))
	}
	return
}

func main() {
	var group sync.WaitGroup
	if C.cuInit(0) != 0 {
		os.Exit(8)
	}
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			allocate(100)
			runtime.Gosched()
		}()
	}
	for i := 0; i < 20; i++ {
		runtime.GC()
	}
	group.Wait()
	out, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
	fmt.Printf("%s%v\n", out, err)
	func() {
		defer func() { fmt.Println(recover()) }()
		var nothing *int
		fmt.Println(*nothing)
	}()
	os.Exit(5)
}
