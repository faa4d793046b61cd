import { dlopen, type FFIFunction } from 'bun:ffi'

const libraries = ['libc.so.6', 'libc.so', 'libSystem.dylib']

/** Functions of the C library; undefined if it has none of these names. */
export function openLibc<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  for (const name of libraries) {
    try {
      return dlopen(name, functions).symbols
    } catch {
      // The next name is tried.
    }
  }
  return undefined
}
