// SPDX-License-Identifier: MIT
/** java Jit LIBRARY COUNT: compiled methods allocate COUNT times in each of three threads; two sizes stay. */
public class Jit {
    static native int allocate(long bytes, int isFreed);

    static int innermost(long bytes, int isFreed) {
        return allocate(bytes, isFreed) * 2;
    }

    static int recurse(int left, long bytes) {
        return left > 0 ? recurse(left - 1, bytes) + 1 : innermost(bytes, 1) + 1;
    }

    static int loop(int count) {
        int failed = 0;
        for (int i = 0; i < count; i++) {
            failed += innermost(1000 + i, 1);
            if (i % 10 == 0) {
                failed += recurse(30, 1000 + i) - 31;
            }
        }
        return failed;
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        int count = Integer.parseInt(arguments[1]);
        int[] failed = new int[2];
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> failed[number] = loop(count));
            threads[i].start();
        }
        int own = loop(count);
        for (Thread thread : threads) {
            thread.join();
        }
        System.gc();
        System.out.println(own + failed[0] + failed[1] + innermost(4711, 0) + innermost(4712, 0));
    }
}
