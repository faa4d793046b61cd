import { Refusal, refuseField } from '../core/refusal.ts'
import { type Json, readJson } from './json.ts'

const usualLimitBytes = 64 * 1024
/** Seconds for a body to arrive, counted in ticks: a process that was stopped gets one late tick, not ten. */
const arrivalTicks = 10

const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('body_too_large', { max_kib: maxBytes / 1024 }, { charged: false })

/** The body as it came, no more of it than so much. A test hands in shorter ticks. */
export async function readBytes(request: Request, maxBytes = usualLimitBytes, tickMs = 1_000): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  return collect(request, maxBytes, tickMs)
}

/** The body as JSON. An empty body is an empty object, so operations without required fields accept it. */
export async function readBody(request: Request, maxBytes = usualLimitBytes): Promise<{ [name: string]: Json }> {
  const sent = await readBytes(request, maxBytes)
  if (sent.length === 0) return {}
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) throw new Refusal('body_not_json')
  const value = readJson(decode(await unpack(sent, request.headers.get('content-encoding'), maxBytes)))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuseField('body', 'type', { expected: 'object' })
  }
  return value
}

/** The body without its Content-Encoding. At most `maxBytes` are decompressed, whatever the compressed body says. */
async function unpack(sent: Uint8Array, encoding: string | null, maxBytes: number): Promise<Uint8Array> {
  if (encoding === null || /^identity$/i.test(encoding)) return sent
  if (!/^(x-)?gzip$/i.test(encoding)) throw new Refusal('body_encoding_unknown')
  try {
    const unpacked = new Blob([sent]).stream().pipeThrough(new DecompressionStream('gzip'))
    return await collectChunks(unpacked, new Promise<never>(() => {}), maxBytes)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw refuseField('body', 'not_gzip')
  }
}

async function collect(request: Request, maxBytes: number, tickMs: number): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array()
  let timer: ReturnType<typeof setInterval> | undefined
  const late = new Promise<never>((_, reject) => {
    let ticks = 0
    timer = setInterval(() => {
      ticks += 1
      if (ticks === arrivalTicks) reject(refuseField('body', 'too_slow', { seconds: arrivalTicks }))
    }, tickMs)
  })
  try {
    // A length that was announced has been judged already; the server reads no more than that, and reads it whole.
    if (request.headers.has('content-length')) return await Promise.race([request.bytes(), late])
    return await collectChunks(request.body, late, maxBytes)
  } catch (error) {
    // Only the client's bytes are read here, so any other error is the connection's end, and no fault.
    throw error instanceof Refusal ? error : refuseField('body', 'cut_short')
  } finally {
    clearInterval(timer)
  }
}

/** A body of unknown length is counted as it arrives, and no more of it is read than the limit. */
async function collectChunks(
  body: ReadableStream<Uint8Array>,
  late: Promise<never>,
  maxBytes: number,
): Promise<Uint8Array> {
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late])
      if (done) return Buffer.concat(chunks)
      size += value.length
      if (size > maxBytes) throw tooLarge(maxBytes)
      chunks.push(value)
    }
  } catch (error) {
    void reader.cancel().catch(() => {})
    throw error
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refuseField('body', 'not_utf8')
  }
}
