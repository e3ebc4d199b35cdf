// SPDX-License-Identifier: MIT
// A host program that uses threads, a child and a caught crash.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Host {
	static int depth(int of) {
		return depth(of + 1) + 1;
	}

	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Long>> sums = new ArrayList<>();

		for (int i = 0; i < 100; i++) {
			final int number = i;
			sums.add(pool.submit(() -> (long) number * number));
		}
		long sum = 0;
		for (Future<Long> part : sums)
			sum += part.get();
		pool.shutdown();
		System.out.println(sum);
		try {
			depth(0);
		} catch (StackOverflowError error) {
			System.out.println("the stack ran over");
		}
		try {
			String nothing = null;
			nothing.length();
		} catch (NullPointerException error) {
			System.out.println("nothing was caught");
		}
		try {
			System.loadLibrary("cuda_is_not_here");
		} catch (UnsatisfiedLinkError error) {
			System.out.println(error.getMessage());
		}
		for (int i = 0; i < 20; i++)
			System.gc();
		Process child = new ProcessBuilder(System.getenv("PROCESS_FACTS"), "x").inheritIO().start();
		System.out.println(child.waitFor());
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("java done")));
	}
}
