import { CString, dlopen, type FFIFunction, type Pointer } from 'bun:ffi'

/**
 * The system's OpenSSL, for one thread. Pointers are numbers below 2^53; 0 is NULL. `size_t` and `long` are `ptr`
 * where a number goes in. Rules of memory at this border:
 *
 * - Each pointer has one owner, which frees it once: `TlsContext` its SSL_CTX, `TlsConnection` its SSL, `TlsBuffers`
 *   the BIO pairs. An owner sets its pointer to 0 when it frees it, and refuses every use after that.
 * - OpenSSL counts references: an SSL keeps its SSL_CTX, and both BIOs. A context may be freed before its connections.
 * - Memory that OpenSSL or the kernel keeps a pointer to is one large ArrayBuffer whose address was taken once. Bun
 *   moves a small typed array when its `.buffer` is touched, and may collect a temporary.
 * - Memory that is used during one call only is passed as the typed array itself, which keeps it alive: never
 *   `ptr(temporary)`.
 * - The queue of errors belongs to the thread. It is cleared before each call whose result is asked with SSL_get_error.
 * - A thread that dies leaks its objects: nothing frees them. Its descriptors are closed by the main thread.
 *
 * Each rule has a test: in `memory-rules.test.ts`, `connection.test.ts`, `native-peer.test.ts`, and for a dead thread
 * in `gateway/engines/linux/tls-dispatcher.test.ts`.
 */

const pointer = 'ptr'
const int = 'i32'
const none = 'void'

const sslSymbols = {
  TLS_method: { args: [], returns: pointer },
  SSL_CTX_new: { args: [pointer], returns: pointer },
  SSL_CTX_free: { args: [pointer], returns: none },
  SSL_CTX_ctrl: { args: [pointer, int, pointer, pointer], returns: int },
  SSL_CTX_callback_ctrl: { args: [pointer, int, pointer], returns: int },
  SSL_CTX_set_options: { args: [pointer, 'u64'], returns: 'u64' },
  SSL_CTX_set_timeout: { args: [pointer, pointer], returns: pointer },
  SSL_CTX_set_cipher_list: { args: [pointer, pointer], returns: int },
  SSL_CTX_set_ciphersuites: { args: [pointer, pointer], returns: int },
  SSL_CTX_set_num_tickets: { args: [pointer, pointer], returns: int },
  SSL_CTX_set_session_id_context: { args: [pointer, pointer, 'u32'], returns: int },
  SSL_CTX_use_certificate: { args: [pointer, pointer], returns: int },
  SSL_CTX_use_PrivateKey: { args: [pointer, pointer], returns: int },
  SSL_CTX_set_client_hello_cb: { args: [pointer, pointer, pointer], returns: none },
  SSL_client_hello_get0_ext: { args: [pointer, 'u32', pointer, pointer], returns: int },
  SSL_set_session_id_context: { args: [pointer, pointer, 'u32'], returns: int },
  SSL_CTX_set_alpn_select_cb: { args: [pointer, pointer, pointer], returns: none },
  SSL_CTX_set_tlsext_ticket_key_evp_cb: { args: [pointer, pointer], returns: int },
  SSL_select_next_proto: { args: [pointer, pointer, pointer, 'u32', pointer, 'u32'], returns: int },
  SSL_new: { args: [pointer], returns: pointer },
  SSL_free: { args: [pointer], returns: none },
  SSL_set_SSL_CTX: { args: [pointer, pointer], returns: pointer },
  SSL_set_accept_state: { args: [pointer], returns: none },
  SSL_set0_rbio: { args: [pointer, pointer], returns: none },
  SSL_set0_wbio: { args: [pointer, pointer], returns: none },
  SSL_is_init_finished: { args: [pointer], returns: int },
  SSL_read: { args: [pointer, pointer, int], returns: int },
  SSL_write: { args: [pointer, pointer, int], returns: int },
  SSL_shutdown: { args: [pointer], returns: int },
  SSL_get_error: { args: [pointer, int], returns: int },
  SSL_get0_alpn_selected: { args: [pointer, pointer, pointer], returns: none },
  SSL_get_servername: { args: [pointer, int], returns: pointer },
} as const satisfies Record<string, FFIFunction>

const cryptoSymbols = {
  OPENSSL_init_crypto: { args: ['u64', pointer], returns: int },
  OpenSSL_version: { args: [int], returns: pointer },
  OpenSSL_version_num: { args: [], returns: 'u32' },
  BIO_new: { args: [pointer], returns: pointer },
  BIO_s_mem: { args: [], returns: pointer },
  BIO_new_bio_pair: { args: [pointer, pointer, pointer, pointer], returns: int },
  BIO_up_ref: { args: [pointer], returns: int },
  BIO_free: { args: [pointer], returns: int },
  BIO_ctrl: { args: [pointer, int, pointer, pointer], returns: int },
  BIO_read: { args: [pointer, pointer, int], returns: int },
  BIO_write: { args: [pointer, pointer, int], returns: int },
  BIO_nread0: { args: [pointer, pointer], returns: int },
  BIO_nread: { args: [pointer, pointer, int], returns: int },
  BIO_nwrite0: { args: [pointer, pointer], returns: int },
  BIO_nwrite: { args: [pointer, pointer, int], returns: int },
  PEM_read_bio_X509: { args: [pointer, pointer, pointer, pointer], returns: pointer },
  PEM_read_bio_PrivateKey: { args: [pointer, pointer, pointer, pointer], returns: pointer },
  X509_free: { args: [pointer], returns: none },
  EVP_PKEY_free: { args: [pointer], returns: none },
  EVP_CIPHER_fetch: { args: [pointer, pointer, pointer], returns: pointer },
  EVP_EncryptInit_ex: { args: [pointer, pointer, pointer, pointer, pointer], returns: int },
  EVP_DecryptInit_ex: { args: [pointer, pointer, pointer, pointer, pointer], returns: int },
  EVP_MAC_CTX_set_params: { args: [pointer, pointer], returns: int },
  RAND_bytes: { args: [pointer, int], returns: int },
  ERR_clear_error: { args: [], returns: none },
  ERR_get_error: { args: [], returns: 'u64' },
  ERR_error_string_n: { args: ['u64', pointer, pointer], returns: none },
} as const satisfies Record<string, FFIFunction>

/** Typed arrays are alive during the call. */
type Argument = number | bigint | NodeJS.TypedArray | Pointer
type Calls<Names> = { readonly [Name in keyof Names]: (...args: readonly Argument[]) => number }

export type Library = Calls<typeof sslSymbols> & Calls<typeof cryptoSymbols> & { readonly version: string }

/** The names of a library's versions, newest interface last: OpenSSL 3 has kept its interface since 3.0. */
const sonames = ['so.3', 'so.4'] as const
const minVersion = 0x30000000
/** The process would free OpenSSL's memory on its exit, while another thread still uses it. */
const withoutExitHandler = 0x0008_0000n

function openNamed(soname: string): Library {
  const crypto = dlopen(`libcrypto.${soname}`, cryptoSymbols).symbols as unknown as Calls<typeof cryptoSymbols>
  // Before any other call, which would register the handler.
  crypto.OPENSSL_init_crypto(withoutExitHandler, 0)
  const ssl = dlopen(`libssl.${soname}`, sslSymbols).symbols as unknown as Calls<typeof sslSymbols>
  const version = new CString(crypto.OpenSSL_version(0)).trim()
  if (crypto.OpenSSL_version_num() < minVersion) throw new Error(`${version} is older than OpenSSL 3.0`)
  return { ...ssl, ...crypto, version }
}

let opened: Library | undefined

/** Throws an error whose message is the reason, if there is no OpenSSL 3. */
export function openLibrary(names: readonly string[] = sonames): Library {
  if (opened && names === sonames) return opened
  const problems: string[] = []
  for (const soname of names) {
    try {
      const library = openNamed(soname)
      if (names === sonames) opened = library
      return library
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw new Error(`OpenSSL 3 (libssl.so.3) cannot be opened: ${problems[0] ?? 'no name was tried'}`)
}

/** Why the system's OpenSSL cannot be used, or undefined. */
export function findOpenSslLack(names: readonly string[] = sonames): string | undefined {
  try {
    openLibrary(names)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const errorBytes = 256

/** The oldest error of this thread, whose queue is empty afterwards. */
export function takeError(library: Library): string {
  const code = library.ERR_get_error() as number | bigint
  library.ERR_clear_error()
  if (BigInt(code) === 0n) return 'no error'
  const text = new Uint8Array(errorBytes)
  library.ERR_error_string_n(code, text, errorBytes)
  return Buffer.from(text.subarray(0, text.indexOf(0))).toString('latin1')
}

/** Bun shows NULL as null. */
export const orZero = (address: number | null): number => address ?? 0
