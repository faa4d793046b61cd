import { ptr, toArrayBuffer } from 'bun:ffi'
import { type Library, orZero, takeError } from './library.ts'
import type { TicketKey } from './ticket-keys.ts'

/** `OSSL_PARAM`: key, type, data, its size, and the size returned. */
const paramBytes = 40
const OSSL_PARAM_UTF8_STRING = 4
const OSSL_PARAM_OCTET_STRING = 5
const nameBytes = 16
const ivBytes = 16

/** Results of the callback. */
const refused = -1
const unknown = 0
const isReady = 1
/** The client gets a new ticket too: clients use a ticket of TLS 1.3 once. */
const renewed = 2

/** One key in memory with a fixed address, in the form that OpenSSL takes. */
class KeyMemory {
  private readonly memory = new Uint8Array(new ArrayBuffer(4096))
  readonly cipherAt: number
  readonly macParamsAt: number
  readonly name: Uint8Array

  constructor(key: TicketKey) {
    const at = Number(ptr(this.memory))
    const view = new DataView(this.memory.buffer)
    const put = (offset: number, bytes: Uint8Array): number => {
      this.memory.set(bytes, offset)
      return at + offset
    }
    const string = (offset: number, value: string): number => put(offset, Buffer.from(`${value}\0`))
    this.name = key.name
    this.cipherAt = put(0, key.cipher)
    const macAt = put(64, key.mac)
    const digest = 'SHA256'
    const param = (index: number, name: number, type: number, data: number, bytes: number): void => {
      const offset = 512 + index * paramBytes
      view.setBigUint64(offset, BigInt(name), true)
      view.setUint32(offset + 8, type, true)
      view.setBigUint64(offset + 16, BigInt(data), true)
      view.setBigUint64(offset + 24, BigInt(bytes), true)
    }
    param(0, string(128, 'key'), OSSL_PARAM_OCTET_STRING, macAt, key.mac.length)
    param(1, string(160, 'digest'), OSSL_PARAM_UTF8_STRING, string(192, digest), digest.length)
    // All zero: the end.
    param(2, 0, 0, 0, 0)
    this.macParamsAt = at + 512
  }
}

/** Encrypts and decrypts session tickets: the first key encrypts, all of them decrypt. */
export class TicketCrypter {
  private keys: readonly KeyMemory[] = []
  private readonly cipher: number

  constructor(private readonly library: Library) {
    // Kept for the life of the thread: fetched for each ticket, it would be looked up by its name under a lock.
    this.cipher = orZero(library.EVP_CIPHER_fetch(0, Buffer.from('AES-256-CBC\0'), 0))
    if (this.cipher === 0) throw new Error(`no AES-256-CBC: ${takeError(library)}`)
  }

  setKeys(keys: readonly TicketKey[]): void {
    this.keys = keys.map((key) => new KeyMemory(key))
  }

  /** For a new ticket: writes the key's name and the IV, and prepares both contexts. */
  encrypt(name: number, iv: number, cipher: number, mac: number): number {
    const [key] = this.keys
    const { library } = this
    if (!key) return unknown
    if (library.RAND_bytes(iv, ivBytes) !== 1) return refused
    new Uint8Array(toArrayBuffer(name, 0, nameBytes)).set(key.name)
    const isKeyed = library.EVP_EncryptInit_ex(cipher, this.cipher, 0, key.cipherAt, iv) === 1
    return isKeyed && library.EVP_MAC_CTX_set_params(mac, key.macParamsAt) === 1 ? isReady : refused
  }

  /** For a ticket of a client. */
  decrypt(name: number, iv: number, cipher: number, mac: number): number {
    const asked = Buffer.from(toArrayBuffer(name, 0, nameBytes))
    const key = this.keys.find(({ name: own }) => asked.equals(own))
    const { library } = this
    if (!key) return unknown
    if (library.EVP_MAC_CTX_set_params(mac, key.macParamsAt) !== 1) return refused
    if (library.EVP_DecryptInit_ex(cipher, this.cipher, 0, key.cipherAt, iv) !== 1) return refused
    return renewed
  }
}
