import { CString, JSCallback, ptr, toArrayBuffer } from 'bun:ffi'
import { type Certificate, coversName } from '../certificate.ts'
import { ciphers, minVersion, onlyHttp1, withHttp2 } from '../parameters.ts'
import { type Library, orZero, takeError } from './library.ts'
import { TicketCrypter } from './ticket-crypter.ts'
import type { TicketKey } from './ticket-keys.ts'

const SSL_CTRL_MODE = 33
const SSL_CTRL_SET_SESS_CACHE_MODE = 44
const SSL_CTRL_SET_TLSEXT_SERVERNAME_CB = 53
const SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG = 54
const SSL_CTRL_CHAIN_CERT = 89
const SSL_CTRL_SET_GROUPS_LIST = 92
const SSL_CTRL_SET_MIN_PROTO_VERSION = 123
/** ACCEPT_MOVING_WRITE_BUFFER and RELEASE_BUFFERS. */
const modes = 2 | 16
/** NO_RENEGOTIATION, CIPHER_SERVER_PREFERENCE and NO_COMPRESSION. */
const options = (1n << 30n) | (1n << 22n) | (1n << 17n)
/** 0-RTT stays off, its default: such requests can be replayed. */
const suites = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256'
const groups = 'X25519:P-256:P-384'
/** A session resumes for so long after its handshake. Keys of tickets live twice as long. */
const sessionSeconds = 12 * 3600
/** A resumed handshake brings the next one. */
const ticketsPerHandshake = 1
/** A certificate and the issuers that it comes with. */
const maxChain = 10

const OK = 0
const ALERT_FATAL = 2
const OPENSSL_NPN_NEGOTIATED = 1
const SSL_CLIENT_HELLO_SUCCESS = 1
/** Number of the extension (RFC 6066). */
const serverNameExtension = 0
const sessionIdContext = Buffer.from('turnpike')

/** Passed as it is, which keeps it alive during the call. */
const text = (value: string): Uint8Array => Buffer.from(`${value}\0`)

/** Functions that OpenSSL calls. One set for each thread, kept for its life: OpenSSL holds their addresses. */
export class TlsCallbacks {
  /** Contexts by the number that OpenSSL passes back. */
  readonly contexts = new Map<number, TlsContext>()
  readonly tickets: TicketCrypter
  private readonly offered: Uint8Array
  private readonly offeredAt: number
  /** Where OpenSSL writes the address and the length of an extension. */
  private readonly place = new DataView(new ArrayBuffer(4096))
  private readonly placeAt = Number(ptr(this.place))
  readonly separateNames: JSCallback
  readonly chooseProtocol: JSCallback
  readonly chooseCertificate: JSCallback
  readonly cryptTicket: JSCallback
  private lastId = 0

  constructor(
    private readonly library: Library,
    offersHttp2: boolean,
  ) {
    this.tickets = new TicketCrypter(library)
    const names = offersHttp2 ? withHttp2 : onlyHttp1
    this.offered = new Uint8Array(new ArrayBuffer(4096))
    this.offered.set(names)
    this.offeredAt = Number(ptr(this.offered))
    const pointer = 'ptr'
    // OpenSSL writes the answer, so JavaScript touches no foreign memory.
    this.chooseProtocol = new JSCallback(
      (_ssl: number, out: number, outLength: number, asked: number, askedLength: number) =>
        library.SSL_select_next_proto(out, outLength, this.offeredAt, names.length, asked, askedLength) ===
        OPENSSL_NPN_NEGOTIATED
          ? OK
          : ALERT_FATAL,
      { args: [pointer, pointer, pointer, pointer, 'u32', pointer], returns: 'i32' },
    )
    // Runs before a session is looked for. Over TLS 1.2, OpenSSL names a resumed connection after its first handshake:
    // a session of another name would choose between the site and the proxy.
    this.separateNames = new JSCallback(
      (ssl: number) => {
        this.keepSessionsApart(ssl)
        return SSL_CLIENT_HELLO_SUCCESS
      },
      { args: [pointer, pointer, pointer], returns: 'i32' },
    )
    this.chooseCertificate = new JSCallback(
      (ssl: number, _alert: number, id: number) => {
        const name = orZero(library.SSL_get_servername(ssl, 0))
        if (name !== 0) this.contexts.get(orZero(id))?.choose(ssl, new CString(name).toLowerCase())
        return OK
      },
      { args: [pointer, pointer, pointer], returns: 'i32' },
    )
    this.cryptTicket = new JSCallback(
      (_ssl: number, name: number, iv: number, cipher: number, mac: number, isNew: number) =>
        isNew === 1 ? this.tickets.encrypt(name, iv, cipher, mac) : this.tickets.decrypt(name, iv, cipher, mac),
      { args: [pointer, pointer, pointer, pointer, pointer, 'i32'], returns: 'i32' },
    )
  }

  /** Sessions of different contexts do not resume each other: each server name is one. */
  private keepSessionsApart(ssl: number): void {
    const { library, place, placeAt } = this
    if (library.SSL_client_hello_get0_ext(ssl, serverNameExtension, placeAt, placeAt + 8) !== 1) return
    const [at, length] = [Number(place.getBigUint64(0, true)), Number(place.getBigUint64(8, true))]
    if (length === 0) return
    const bytes = new Uint8Array(toArrayBuffer(at, 0, length))
    const digest = new Bun.CryptoHasher('sha256').update(bytes).digest()
    library.SSL_set_session_id_context(ssl, digest, digest.length)
  }

  setTicketKeys(keys: readonly TicketKey[]): void {
    this.tickets.setKeys(keys)
  }

  nextId(): number {
    this.lastId += 1
    return this.lastId
  }

  /** No connection may be in a handshake. For tests: a thread keeps its callbacks. */
  free(): void {
    const { chooseProtocol, separateNames, chooseCertificate, cryptTicket } = this
    for (const callback of [chooseProtocol, separateNames, chooseCertificate, cryptTicket]) callback.close()
  }

  get lib(): Library {
    return this.library
  }
}

/** Server context: the certificate of a name, parameters and tickets. The first certificate serves all other names. */
export class TlsContext {
  private readonly own: { readonly address: number; readonly certificate: Certificate }[] = []
  private readonly id: number

  constructor(
    private readonly callbacks: TlsCallbacks,
    certificates: readonly Certificate[],
  ) {
    this.id = callbacks.nextId()
    try {
      for (const certificate of certificates) this.own.push({ address: this.makeOne(certificate), certificate })
    } catch (error) {
      this.free()
      throw error
    }
    callbacks.contexts.set(this.id, this)
  }

  get address(): number {
    const [first] = this.own
    if (!first) throw new Error('this TLS context is freed already')
    return first.address
  }

  /** Gives a connection the certificate of the name that its client asked for, in lower case. */
  choose(ssl: number, name: string): void {
    const found = this.own.find(({ certificate }) => coversName(certificate, name))
    if (found && found !== this.own[0]) this.callbacks.lib.SSL_set_SSL_CTX(ssl, found.address)
  }

  /** Its connections continue: each has a reference. */
  free(): void {
    this.callbacks.contexts.delete(this.id)
    for (const { address } of this.own.splice(0)) this.callbacks.lib.SSL_CTX_free(address)
  }

  private makeOne(certificate: Certificate): number {
    const library = this.callbacks.lib
    const context = orZero(library.SSL_CTX_new(library.TLS_method()))
    if (context === 0) throw new Error(`no TLS context: ${takeError(library)}`)
    try {
      this.configure(context)
      useCertificate(library, context, certificate)
      return context
    } catch (error) {
      library.SSL_CTX_free(context)
      throw error
    }
  }

  private configure(context: number): void {
    const { lib: library, chooseProtocol, separateNames, chooseCertificate, cryptTicket } = this.callbacks
    const demand = (isDone: boolean, name: string): void => {
      if (!isDone) throw new Error(`OpenSSL refuses ${name}: ${takeError(library)}`)
    }
    demand(library.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, minVersion, 0) === 1, 'the version')
    library.SSL_CTX_ctrl(context, SSL_CTRL_MODE, modes, 0)
    // Tickets hold the sessions.
    library.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, 0, 0)
    library.SSL_CTX_set_options(context, options)
    library.SSL_CTX_set_timeout(context, sessionSeconds)
    demand(library.SSL_CTX_set_cipher_list(context, text(ciphers)) === 1, 'the ciphers')
    demand(library.SSL_CTX_set_ciphersuites(context, text(suites)) === 1, 'the cipher suites')
    demand(library.SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, text(groups)) === 1, 'the groups')
    library.SSL_CTX_set_num_tickets(context, ticketsPerHandshake)
    library.SSL_CTX_set_session_id_context(context, sessionIdContext, sessionIdContext.length)
    const addressOf = ({ ptr: address }: JSCallback): number => Number(address)
    library.SSL_CTX_set_client_hello_cb(context, addressOf(separateNames), 0)
    library.SSL_CTX_set_alpn_select_cb(context, addressOf(chooseProtocol), 0)
    library.SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, addressOf(chooseCertificate))
    library.SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, this.id)
    library.SSL_CTX_set_tlsext_ticket_key_evp_cb(context, addressOf(cryptTicket))
  }
}

/** Calls `act` with a BIO that has a copy of the text. */
function withText<Result>(library: Library, pem: string, act: (bio: number) => Result): Result {
  const bio = orZero(library.BIO_new(library.BIO_s_mem()))
  try {
    const bytes = Buffer.from(pem)
    library.BIO_write(bio, bytes, bytes.length)
    return act(bio)
  } finally {
    library.BIO_free(bio)
  }
}

function useCertificate(library: Library, context: number, { cert, key }: Certificate): void {
  withText(library, cert, (bio) => {
    const own = orZero(library.PEM_read_bio_X509(bio, 0, 0, 0))
    const isUsed = own !== 0 && library.SSL_CTX_use_certificate(context, own) === 1
    if (own !== 0) library.X509_free(own)
    if (!isUsed) throw new Error(`OpenSSL refuses the certificate: ${takeError(library)}`)
    for (let count = 0; count < maxChain; count += 1) {
      const issuer = orZero(library.PEM_read_bio_X509(bio, 0, 0, 0))
      if (issuer === 0) break
      // The context owns it, unless it refuses it.
      if (library.SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 0, issuer) !== 1) library.X509_free(issuer)
    }
  })
  withText(library, key, (bio) => {
    const own = orZero(library.PEM_read_bio_PrivateKey(bio, 0, 0, 0))
    const isUsed = own !== 0 && library.SSL_CTX_use_PrivateKey(context, own) === 1
    if (own !== 0) library.EVP_PKEY_free(own)
    if (!isUsed) throw new Error(`OpenSSL refuses the key: ${takeError(library)}`)
  })
  library.ERR_clear_error()
}
