// SPDX-License-Identifier: GPL-2.0
/* 1000 divisions by zero and 1000 null references, which the JVM finds by SIGFPE and SIGSEGV */
public class Traps {
	static int divide(int a, int b) { return a / b; }
	static int length(int[] a) { return a.length; }

	public static void main(String[] args)
	{
		int found = 0;
		for (int i = 0; i < 1000; i++) {
			try { divide(i, 0); } catch (ArithmeticException e) { found++; }
			try { length(null); } catch (NullPointerException e) { found++; }
		}
		System.exit(found == 2000 ? 0 : 1);
	}
}
