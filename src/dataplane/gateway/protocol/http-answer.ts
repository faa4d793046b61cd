import { toLatin1 } from './http-head.ts'

/** Our own answers, by the phrase that stands beside their status (RFC 9110, 15). */
const phrases: Readonly<Record<number, string>> = {
  200: 'Connection established',
  400: 'Bad Request',
  402: 'Payment Required',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

/**
 * An answer of the gateway itself. A 200 is the one to CONNECT and has neither length nor body (RFC 9110, 9.3.6); a 407
 * names the scheme (RFC 9110, 11.7.1). `isHead` leaves the body of an answer to HEAD away, so that a kept connection
 * stays in step.
 */
export function answer(
  status: number,
  code: string | undefined,
  message: string,
  extra: Readonly<Record<string, string>> = {},
  close = true,
  isHead = false,
): Uint8Array {
  const lines = [`HTTP/1.1 ${status} ${phrases[status] ?? 'Refused'}`]
  const body = status === 200 ? '' : Buffer.from(`${message}\n`).toString('latin1')
  if (status === 407) lines.push('Proxy-Authenticate: Basic realm="Turnpike"')
  if (code !== undefined) lines.push(`X-Turnpike-Error: ${toFieldText(code)}`)
  for (const [name, value] of Object.entries(extra)) lines.push(`${toFieldText(name)}: ${toFieldText(value)}`)
  if (status !== 200) {
    lines.push('Content-Type: text/plain; charset=utf-8', `Content-Length: ${body.length}`)
    lines.push(`Connection: ${close ? 'close' : 'keep-alive'}`)
  }
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`)
}

/** Whatever is told in a field, it cannot end the line. */
const toFieldText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?')
