import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  atOwnPort,
  byteByByte,
  splitAt,
  summarizeRequests,
  summarizeSocks,
  toBytes,
} from '../../../../test/harness/protocol.ts'
import { scaled } from '../../../../test/harness/scale.ts'

/** The sent bytes, and the first line of each event without heads. */
type Case = readonly [name: string, sent: string, ...expected: string[]]

const get = 'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n'
const post = 'POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n'
const chunked = `${post}Transfer-Encoding: chunked\r\n\r\n`
const login = 'Proxy-Authorization: Basic YTpi\r\n'
const bad = 'refuse 400 bad_request'
const requestLine = 'request a.example:80'
const connect = (authority: string): string => `CONNECT ${authority} HTTP/1.1\r\nHost: a.example\r\n\r\n`
const uri = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a.example\r\n\r\n`
const headed = (...fields: string[]): string => `${get}${fields.join('\r\n')}\r\n\r\n`
const posted = (...fields: string[]): string => `${post}${fields.join('\r\n')}\r\n\r\nhello`
const asBasic = (text: string): string => `Proxy-Authorization: Basic ${Buffer.from(text, 'latin1').toString('base64')}`

const requestLines: readonly Case[] = [
  ['no version, as in HTTP/0.9', 'GET http://a.example/\r\n', bad],
  ['HTTP/0.9 by number', uri('http://a.example/').replace('1.1', '0.9'), 'refuse 505 version_unsupported'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'refuse 505 version_unsupported'],
  ['HTTP/3.0', 'GET http://a.example/ HTTP/3.0\r\n', 'refuse 505 version_unsupported'],
  ['HTTP/1.2', 'GET http://a.example/ HTTP/1.2\r\n', 'refuse 505 version_unsupported'],
  ['a version in lower case', 'GET http://a.example/ http/1.1\r\n', bad],
  ['a version of two digits', 'GET http://a.example/ HTTP/1.10\r\n', bad],
  ['another protocol', 'GET http://a.example/ ICAP/1.0\r\n', bad],
  ['two spaces', 'GET  http://a.example/ HTTP/1.1\r\n', bad],
  ['a tab for a space', 'GET\thttp://a.example/ HTTP/1.1\r\n', bad],
  ['a space at the end', 'GET http://a.example/ HTTP/1.1 \r\n', bad],
  ['a space within the URI', 'GET http://a.example/a b HTTP/1.1\r\n', bad],
  ['bytes past ASCII in the URI', 'GET http://a.example/\xc3\xa9 HTTP/1.1\r\n', bad],
  ['a method that is no token', 'G@T http://a.example/ HTTP/1.1\r\n', bad],
  ['a method in brackets', '(GET) http://a.example/ HTTP/1.1\r\n', bad],
  ['TRACE', 'TRACE http://a.example/ HTTP/1.1\r\n', 'refuse 501 method_unsupported'],
  ['one empty line before', `\r\n${get}\r\n`, requestLine, 'end'],
  ['two empty lines before', `\r\n\r\n${get}\r\n`, bad],
  ['a request line that is too long', `GET http://a.example/${'a'.repeat(8200)}`, 'refuse 414 uri_too_long'],
  ['a line ended by LF', 'GET http://a.example/ HTTP/1.1\nHost: a.example\n\n', bad],
  ['a CR in the line', 'GET http://a.example/\r HTTP/1.1\r\n', bad],
  ['a NUL in the line', 'GET http://a.example/\0 HTTP/1.1\r\n', bad],
  ['an origin-form', 'GET / HTTP/1.1\r\n', 'refuse 400 not_a_proxy_request'],
  ['an origin-form that looks like a host', 'GET //a.example/ HTTP/1.1\r\n', 'refuse 400 not_a_proxy_request'],
  ['an asterisk', 'OPTIONS * HTTP/1.1\r\n', 'refuse 400 not_a_proxy_request'],
  ['https without CONNECT', 'GET https://a.example/ HTTP/1.1\r\n', 'refuse 400 use_connect'],
  ['HTTPS in capitals', 'GET HTTPS://a.example/ HTTP/1.1\r\n', 'refuse 400 use_connect'],
  ['another scheme', 'GET ftp://a.example/ HTTP/1.1\r\n', bad],
  ['a file', 'GET file:///etc/passwd HTTP/1.1\r\n', bad],
  ['an authority without CONNECT', 'GET a.example:80 HTTP/1.1\r\n', bad],
  ['a URI with CONNECT', 'CONNECT http://a.example/ HTTP/1.1\r\n', bad],
  ['a path after the authority of CONNECT', 'CONNECT a.example:443/ HTTP/1.1\r\n', bad],
]

const targets: readonly Case[] = [
  ['user information', uri('http://user:secret@a.example/'), bad],
  ['user information that hides the host', uri('http://a.example@b.example/'), bad],
  ['a backslash before the at', uri('http://a.example\\@b.example/'), bad],
  ['a fragment', uri('http://a.example/#top'), bad],
  ['a fragment right after the host', uri('http://a.example#@b.example/'), bad],
  ['no host', uri('http:///path'), bad],
  ['no host but a port', uri('http://:80/'), bad],
  ['an empty port', uri('http://a.example:/'), bad],
  ['one slash', uri('http:/a.example/'), bad],
  ['a percent in the host', uri('http://a%2eexample/'), bad],
  ['a host in circled digits', uri('http://\xe2\x91\xa0\xe2\x91\xa1/'), bad],
  ['a scheme in capitals', uri('HTTP://A.EXAMPLE/'), requestLine, 'end'],
  ['a query right after the host', uri('http://a.example?b'), requestLine, 'end'],
  ['a trailing dot', uri('http://a.example./'), requestLine, 'end'],
  ['a mapped address', uri('http://[::ffff:127.0.0.1]/'), 'request 127.0.0.1:80', 'end'],
  ['port 65561', connect('a.example:65561'), bad],
  ['port 4294967321', connect('a.example:4294967321'), bad],
  ['port 0025', connect('a.example:0025'), bad],
  ['port +25', connect('a.example:+25'), bad],
  ['port -1', connect('a.example:-1'), bad],
  ['port 0', connect('a.example:0'), bad],
  ['port 0x50', connect('a.example:0x50'), bad],
  ['port 8e1', connect('a.example:8e1'), bad],
  ['no port', connect('a.example'), bad],
  ['two ports', connect('a.example:80:80'), bad],
  ['a comma after the port', connect('a.example:80,443'), bad],
  ['a name in brackets', connect('[example.com]:443'), bad],
  ['an IPv4 address in brackets', connect('[127.0.0.1]:443'), bad],
  ['an IPv6 address without brackets', connect('::1:443'), bad],
  ['an IPv6 zone', connect('[fe80::1%25eth0]:443'), bad],
  ['an unclosed bracket', connect('[::1:443'), bad],
  ['bytes after a bracket', connect('[::1]x:443'), bad],
  ['a short IPv4 address', connect('127.1:443'), bad],
  ['a hexadecimal IPv4 address', connect('0x7f.1:443'), bad],
  ['an IPv4 address as one number', connect('2130706433:443'), bad],
  ['an IPv4 address as one octal number', connect('017700000001:443'), bad],
  ['an octal part', connect('0177.0.0.1:443'), bad],
  ['a part past 255', connect('127.0.0.256:443'), bad],
  ['an address with a trailing dot', connect('127.0.0.1.:443'), bad],
  ['five parts', connect('1.2.3.4.5:443'), bad],
  ['an empty label', connect('a..example:443'), bad],
  ['a label of 64', connect(`${'a'.repeat(64)}.example:443`), bad],
  ['a name of 254', connect(`${'a.'.repeat(126)}aa:443`), bad],
  ['a hyphen in front', connect('-a.example:443'), bad],
  ['user information with CONNECT', connect('u@a.example:443'), bad],
  ['a loopback in canonical form', connect('[0:0:0:0:0:0:0:1]:443'), 'tunnel [::1]:443', 'rest '],
]

const heads: readonly Case[] = [
  ['a folded line', headed('X-A: 1', ' 2'), bad],
  ['a folded first line', `GET http://a.example/ HTTP/1.1\r\n Host: b\r\n\r\n`, bad],
  ['a blank before the colon', headed('X-A : 1'), bad],
  ['a tab before the colon', headed('Content-Length\t: 5'), bad],
  ['no colon', headed('X-A'), bad],
  ['no name', headed(': 1'), bad],
  ['a name that is no token', headed('X[A]: 1'), bad],
  ['a name past ASCII', headed('X-\xc3\xa9: 1'), bad],
  ['a field ended by LF', `${get}X-A: 1\nX-B: 2\r\n\r\n`, bad],
  ['a CR within a value', headed('X-A: 1\rX-B: 2'), bad],
  ['CR CR LF', `${get}X-A: 1\r\r\n\r\n`, bad],
  ['a NUL in a value', headed('X-A: \0'), bad],
  ['an escape in a value', headed('X-A: \x1b[31m'), bad],
  ['a DEL in a value', headed('X-A: \x7f'), bad],
  ['a vertical tab in a value', headed('X-A: \x0bchunked'), bad],
  ['100 fields', headed(...Array.from({ length: 99 }, () => 'X-A: 1')), requestLine, 'end'],
  ['101 fields', headed(...Array.from({ length: 100 }, () => 'X-A: 1')), 'refuse 431 head_too_large'],
  ['a head past 16 KiB', headed(`X-A: ${'a'.repeat(17_000)}`), 'refuse 431 head_too_large'],
  ['a field that never ends', `${get}X-A: ${'a'.repeat(17_000)}`, 'refuse 431 head_too_large'],
  ['no Host', 'GET http://a.example/ HTTP/1.1\r\n\r\n', bad],
  ['no Host in HTTP/1.0', 'GET http://a.example/ HTTP/1.0\r\n\r\n', `${requestLine} close`, 'end'],
  ['two Hosts', headed('Host: a.example'), bad],
  ['a Host of two', 'GET http://a.example/ HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n', bad],
  ['an empty Host', 'GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n', bad],
  ['a Host with a path', 'GET http://a.example/ HTTP/1.1\r\nHost: a.example/x\r\n\r\n', bad],
  ['a foreign Host', 'GET http://a.example/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n', requestLine, 'end'],
  [
    'a foreign Host with CONNECT',
    'CONNECT a.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n',
    'tunnel a.example:443',
    'rest ',
  ],
  ['a Connection that is no list of tokens', headed('Connection: "close"'), bad],
  ['an unknown expectation', headed('Expect: a miracle'), 'refuse 417 expectation_failed'],
  [
    'OPTIONS with Max-Forwards: 0',
    `OPTIONS http://a.example HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n`,
    'refuse 501 method_unsupported',
  ],
]

const framings: readonly Case[] = [
  ['Content-Length twice', posted('Content-Length: 5', 'Content-Length: 5'), bad],
  ['two Content-Lengths', posted('Content-Length: 5', 'Content-Length: 6'), bad],
  ['a list of lengths', posted('Content-Length: 5, 5'), bad],
  ['a length with a sign', posted('Content-Length: +5'), bad],
  ['a negative length', posted('Content-Length: -5'), bad],
  ['a hexadecimal length', posted('Content-Length: 0x5'), bad],
  ['a length with zeros in front', posted('Content-Length: 005'), bad],
  ['a length with a fraction', posted('Content-Length: 5.0'), bad],
  ['an empty length', posted('Content-Length:'), bad],
  ['a length in words', posted('Content-Length: five'), bad],
  ['a length past 64 bits', posted('Content-Length: 99999999999999999999'), bad],
  ['length and chunks', posted('Content-Length: 5', 'Transfer-Encoding: chunked'), bad],
  ['chunks and length', posted('Transfer-Encoding: chunked', 'Content-Length: 5'), bad],
  ['chunks twice', posted('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'), bad],
  ['chunked, chunked', posted('Transfer-Encoding: chunked, chunked'), bad],
  ['identity', posted('Transfer-Encoding: identity'), bad],
  ['chunked, identity', posted('Transfer-Encoding: chunked, identity'), bad],
  ['xchunked', posted('Transfer-Encoding: xchunked'), bad],
  ['chunked with a parameter', posted('Transfer-Encoding: chunked;q=1'), bad],
  ['quoted chunked', posted('Transfer-Encoding: "chunked"'), bad],
  ['an empty coding', posted('Transfer-Encoding:'), bad],
  ['gzip, chunked', posted('Transfer-Encoding: gzip, chunked'), 'refuse 501 transfer_coding_unsupported'],
  ['chunked in HTTP/1.0', chunked.replace('1.1', '1.0'), bad],
  ['CONNECT with a length', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello', bad],
  [
    'CONNECT in chunks',
    'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    bad,
  ],
  [
    'CONNECT with a length of 0',
    'CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\nx',
    'tunnel a.example:443',
    'rest x',
  ],
  ['a size with a sign', `${chunked}+5\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a negative size', `${chunked}-5\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a size with 0x', `${chunked}0x5\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a size after a blank', `${chunked} 5\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a blank after a size', `${chunked}5 \r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a size past 32 bits', `${chunked}100000005\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a size past 64 bits', `${chunked}10000000000000005\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['no size', `${chunked}\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['an extension without a size', `${chunked};a=b\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a size ended by LF', `${chunked}5\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['an LF in an extension', `${chunked}5;a\nb\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['a CR in an extension', `${chunked}5;a\rb\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  ['an extension', `${chunked}5;a="b"\r\nhello\r\n0\r\n\r\n`, requestLine, 'body 5\r\nhello\r\n0\r\n\r\n', 'end'],
  ['an extension that is too long', `${chunked}5;${'a'.repeat(300)}\r\nhello\r\n0\r\n\r\n`, requestLine, bad],
  [
    'extensions without end',
    `${chunked}${`1;${'a'.repeat(250)}\r\nx\r\n`.repeat(70)}0\r\n\r\n`,
    requestLine,
    `body ${'1\r\nx\r\n'.repeat(65)}`,
    bad,
  ],
  ['a chunk longer than its size', `${chunked}5\r\nhello!\r\n0\r\n\r\n`, requestLine, 'body 5\r\nhello', bad],
  ['a chunk ended by LF', `${chunked}5\r\nhello\n0\r\n\r\n`, requestLine, 'body 5\r\nhello', bad],
  [
    'zeros in front of a size',
    `${chunked}00005\r\nhello\r\n0000\r\n\r\n`,
    requestLine,
    'body 5\r\nhello\r\n0\r\n\r\n',
    'end',
  ],
  ['a trailer', `${chunked}0\r\nX-Sum: 1\r\n\r\n`, requestLine, 'body 0\r\n\r\n', 'end'],
  ['a Content-Length trailer', `${chunked}0\r\nContent-Length: 5\r\n\r\n`, requestLine, bad],
  ['a Host trailer', `${chunked}0\r\nHost: b.example\r\n\r\n`, requestLine, bad],
  ['a Proxy-Authorization trailer', `${chunked}0\r\n${login}\r\n`, requestLine, bad],
  ['a folded trailer', `${chunked}0\r\nX-A: 1\r\n 2\r\n\r\n`, requestLine, bad],
  ['trailers without end', `${chunked}0\r\n${'X-A: 1\r\n'.repeat(1100)}`, requestLine, bad],
]

const credentials: readonly Case[] = [
  ['a name and a password', headed('Proxy-Authorization: bAsIc YTpi'), `${requestLine} as a:b`, 'end'],
  ['a password with colons', headed(asBasic('a:b:c')), `${requestLine} as a:b:c`, 'end'],
  ['nothing but a colon', headed(asBasic(':')), `${requestLine} as :`, 'end'],
  ['two Proxy-Authorizations', headed('Proxy-Authorization: Basic YTpi', 'Proxy-Authorization: Basic YTpi'), bad],
  ['another scheme', headed('Proxy-Authorization: Bearer YTpi'), 'refuse 407 bad_credentials'],
  ['no scheme', headed('Proxy-Authorization: YTpi'), 'refuse 407 bad_credentials'],
  ['base64 with a stray character', headed('Proxy-Authorization: Basic YT*pi'), 'refuse 407 bad_credentials'],
  ['base64 for URLs', headed('Proxy-Authorization: Basic YT_-'), 'refuse 407 bad_credentials'],
  ['base64 without padding', headed('Proxy-Authorization: Basic YTpiYw'), 'refuse 407 bad_credentials'],
  ['base64 with stray bits', headed('Proxy-Authorization: Basic YTpiYx=='), 'refuse 407 bad_credentials'],
  ['no colon', headed(asBasic('ab')), 'refuse 407 bad_credentials'],
  ['a name that is not UTF-8', headed(asBasic('\xff:b')), 'refuse 407 bad_credentials'],
  ['a line end in the name', headed(asBasic('a\r\nb:c')), 'refuse 407 bad_credentials'],
  ['a NUL in the password', headed(asBasic('a:b\0')), 'refuse 407 bad_credentials'],
  ['a DEL in the name', headed(asBasic('a\x7f:b')), 'refuse 407 bad_credentials'],
  ['a name of 513', headed(asBasic(`${'a'.repeat(513)}:b`)), 'refuse 407 bad_credentials'],
  ['a password of 257', headed(asBasic(`a:${'b'.repeat(257)}`)), 'refuse 407 bad_credentials'],
]

const pipelines: readonly Case[] = [
  ['two requests', `${get}\r\n${get}${login}\r\n`, requestLine, 'end', `${requestLine} as a:b`, 'end'],
  [
    'a request within a body',
    `${post}Content-Length: 4\r\n\r\nGET ${get}\r\n`,
    requestLine,
    'body GET ',
    'end',
    requestLine,
    'end',
  ],
  ['a request after chunks', `${chunked}0\r\n\r\n${get}\r\n`, requestLine, 'body 0\r\n\r\n', 'end', requestLine, 'end'],
  ['a request after close', `${headed('Connection: close')}${get}\r\n`, `${requestLine} close`, 'end'],
  ['a request after HTTP/1.0', `GET http://a.example/ HTTP/1.0\r\n\r\n${get}\r\n`, `${requestLine} close`, 'end'],
  ['a request after a malformed one', `${get}X-A\r\n\r\n${get}\r\n`, bad],
  ['a body longer than its length', posted('Content-Length: 4'), requestLine, 'body hell', 'end'],
  ['a body that is not announced', posted('X-A: 1').replace('hello', 'hello\r\n'), requestLine, 'end', bad],
  ['early data of a tunnel', `${connect('a.example:443')}\x16\x03\x01`, 'tunnel a.example:443', 'rest \x16\x03\x01'],
  ['a request after a CONNECT', `${connect('a.example:443')}${get}\r\n`, 'tunnel a.example:443', `rest ${get}\r\n`],
]

/** The gateway answers each CONNECT with 407 and continues to read. */
const afterRefusal: readonly Case[] = [
  [
    'a request after a refused CONNECT',
    `${connect('a.example:443')}${get}${login}\r\n`,
    'tunnel a.example:443',
    `${requestLine} as a:b`,
    'end',
  ],
  ['a TLS hello after a refused CONNECT', `${connect('a.example:443')}\x16\x03\x01`, 'tunnel a.example:443', bad],
  ['two CONNECTs', connect('a.example:443') + connect('b.example:443'), 'tunnel a.example:443', 'tunnel b.example:443'],
  ['a CONNECT of HTTP/1.0', `CONNECT a.example:443 HTTP/1.0\r\n\r\n${get}\r\n`, 'tunnel a.example:443'],
]

const greeting = '\x05\x01\x02'
const user = '\x01\x01a\x01b'
const hello = ['reply 0502', 'credentials a:b', 'accept 0100']
const failed = 'refuse 05010001000000000000 bad_request'
const request = (rest: string): string => `${greeting}${user}${rest}`
const domain = (name: string, port = '\x01\xbb'): string =>
  request(`\x05\x01\0\x03${String.fromCharCode(name.length)}${name}${port}`)

const socks: readonly Case[] = [
  ['another version', '\x04\x01\x02', 'refuse 05ff bad_request'],
  ['no methods', '\x05\0', 'refuse 05ff credentials_required'],
  ['unknown methods only', '\x05\x02\x01\x03', 'refuse 05ff credentials_required'],
  ['the method without authentication only', '\x05\x01\0', 'refuse 05ff credentials_required'],
  ['255 methods', `\x05\xff${'\x02'.repeat(255)}`, 'reply 0502'],
  ['fewer methods than announced', '\x05\x05\x02\x02'],
  ['a version of credentials that is 5', `${greeting}\x05\x01a\x01b`, 'reply 0502', 'refuse 0101 bad_request'],
  [
    'a request without credentials',
    `${greeting}\x05\x01\0\x01\x01\x01\x01\x01\0\x50`,
    'reply 0502',
    'refuse 0101 bad_request',
  ],
  ['an empty name', `${greeting}\x01\0\x01b`, 'reply 0502', 'credentials :b', 'accept 0100'],
  ['an empty password', `${greeting}\x01\x01a\0`, 'reply 0502', 'credentials a:', 'accept 0100'],
  ['an empty name and an empty password', `${greeting}\x01\0\0`, 'reply 0502', 'credentials :', 'accept 0100'],
  ['a name that is not UTF-8', `${greeting}\x01\x01\xff\x01b`, 'reply 0502', 'refuse 0101 bad_credentials'],
  ['a name with a NUL', `${greeting}\x01\x02a\0\x01b`, 'reply 0502', 'refuse 0101 bad_credentials'],
  [
    'the longest name and password',
    `${greeting}\x01\xff${'a'.repeat(255)}\xff${'b'.repeat(255)}`,
    'reply 0502',
    `credentials ${'a'.repeat(255)}:${'b'.repeat(255)}`,
    'accept 0100',
  ],
  [
    'a request after wrong credentials',
    `${greeting}\x01\x06nobody\x01b\x05\x01\0\x01\x01\x01\x01\x01\0\x50`,
    'reply 0502',
    'credentials nobody:b',
    'deny 0101',
  ],
  ['a request of version 4', request('\x04\x01\0\x01\x01\x01\x01\x01\0\x50'), ...hello, failed],
  ['BIND', request('\x05\x02\0\x01\0\0\0\0\0\0'), ...hello, 'refuse 05070001000000000000 command_unsupported'],
  ['UDP ASSOCIATE', request('\x05\x03\0\x01\0\0\0\0\0\0'), ...hello, 'associate'],
  ['UDP ASSOCIATE with an address', request('\x05\x03\0\x01\x01\x02\x03\x04\0\x50'), ...hello, 'associate'],
  ['UDP ASSOCIATE with a name', request('\x05\x03\0\x03\x01a\0\0x'), ...hello, 'associate', 'rest x'],
  ['command 0', request('\x05\0'), ...hello, 'refuse 05070001000000000000 command_unsupported'],
  ['command 255', request('\x05\xff'), ...hello, 'refuse 05070001000000000000 command_unsupported'],
  ['a reserved byte that is set', request('\x05\x01\x01\x01\x01\x01\x01\x01\0\x50'), ...hello, failed],
  ['address type 0', request('\x05\x01\0\0'), ...hello, 'refuse 05080001000000000000 address_type_unsupported'],
  ['address type 2', request('\x05\x01\0\x02'), ...hello, 'refuse 05080001000000000000 address_type_unsupported'],
  ['address type 255', request('\x05\x01\0\xff'), ...hello, 'refuse 05080001000000000000 address_type_unsupported'],
  ['an empty name', request('\x05\x01\0\x03\0\x01\xbb'), ...hello, failed],
  ['an empty name, before its port', request('\x05\x01\0\x03\0'), ...hello, failed],
  ['port 0', domain('a.example', '\0\0'), ...hello, failed],
  ['port 0 of an address', request('\x05\x01\0\x01\x01\x01\x01\x01\0\0'), ...hello, failed],
  ['a name with a NUL', domain('a.example\0.b'), ...hello, failed],
  ['a name with a port', domain('a.example:80'), ...hello, failed],
  ['a name with a slash', domain('a.example/'), ...hello, failed],
  ['a name with a space', domain('a example'), ...hello, failed],
  ['a name past ASCII', domain('\xc3\xa9.example'), ...hello, failed],
  ['a name of 255', domain('a'.repeat(255)), ...hello, failed],
  ['a short IPv4 address as a name', domain('127.1'), ...hello, failed],
  ['a hexadecimal address as a name', domain('0x7f000001'), ...hello, failed],
  ['a number as a name', domain('2130706433'), ...hello, failed],
  ['a bracketed address as a name', domain('[::1]'), ...hello, failed],
  ['a long IPv6 address as a name', domain('0:0:0:0:0:0:0:1'), ...hello, failed],
  ['a mapped address as a name', domain('::ffff:127.0.0.1'), ...hello, failed],
  ['an IPv6 zone as a name', domain('fe80::1%eth0'), ...hello, failed],
  ['a canonical IPv4 address as a name', domain('127.0.0.1'), ...hello, 'connect 127.0.0.1:443'],
  ['a canonical IPv6 address as a name', domain('::1'), ...hello, 'connect [::1]:443'],
  ['a name in capitals with a dot', domain('A.Example.'), ...hello, 'connect a.example:443'],
  [
    'a mapped address',
    request(`\x05\x01\0\x04${'\0'.repeat(10)}\xff\xff\x7f\0\0\x01\0\x50`),
    ...hello,
    'connect 127.0.0.1:80',
  ],
  [
    'an IPv6 address',
    request(`\x05\x01\0\x04\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01\0\x50`),
    ...hello,
    'connect [2001:db8::1]:80',
  ],
  ['early data', `${domain('a.example')}GET /`, ...hello, 'connect a.example:443', 'rest GET /'],
  [
    'a second request after the first',
    `${domain('a.example')}\x05\x01\0\x01`,
    ...hello,
    'connect a.example:443',
    'rest \x05\x01\0\x01',
  ],
  ['HTTP', get, 'refuse 05ff bad_request'],
]

/** SOCKS5 handshakes from an address that needs no name and password. */
const anonymousSocks: readonly Case[] = [
  [
    'the method without authentication only',
    '\x05\x01\0\x05\x01\0\x01\x01\x02\x03\x04\0\x50',
    'reply 0500',
    'connect 1.2.3.4:80',
  ],
  ['both methods', `\x05\x02\0\x02${user}`, ...hello],
  ['credentials without a request for them', `\x05\x01\0${user}`, 'reply 0500', failed],
  ['GSSAPI alone', '\x05\x01\x01', 'refuse 05ff credentials_required'],
]

const withoutHeads = (lines: readonly string[]): string[] =>
  lines.map((line) => (line.startsWith('request ') ? (line.split(' \n')[0] ?? line) : line))

function suite(name: string, cases: readonly Case[], summarize: (pieces: readonly Uint8Array[]) => string[]): void {
  describe(name, () => {
    test.each(cases.map(([title, sent, ...expected]) => [title, sent, expected] as const))(
      `the parser yields the expected events for every split of ${name}: %s`,
      (_, sent, expected) => {
        const bytes = toBytes(sent)
        const whole = summarize([bytes])
        expect(withoutHeads(whole)).toEqual([...expected])
        expect(summarize(byteByByte(bytes))).toEqual(whole)
        fc.assert(
          fc.property(fc.array(fc.nat(Math.min(bytes.length, 1000)), { maxLength: 8 }), (cuts) => {
            expect(summarize(splitAt(bytes, cuts))).toEqual(whole)
          }),
          { numRuns: scaled(200) },
        )
      },
    )
  })
}

suite('an HTTP request line', requestLines, summarizeRequests)
suite('an HTTP request target', targets, summarizeRequests)
suite('an HTTP request head', heads, summarizeRequests)
suite('an HTTP request body', framings, summarizeRequests)
suite('HTTP credentials', credentials, summarizeRequests)
suite('pipelined HTTP requests', pipelines, summarizeRequests)
suite('HTTP requests after a 407', afterRefusal, (pieces) => summarizeRequests(pieces, true))
suite('a SOCKS5 handshake', socks, summarizeSocks)
suite('a SOCKS5 handshake from a known address', anonymousSocks, (pieces) => summarizeSocks(pieces, atOwnPort))
