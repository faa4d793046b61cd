import { describe, expect, test } from 'bun:test'
import { lineForms, type ProxyEndpoint, programs, schemesOf, toLine, toSnippet, toTelegram, toUrl } from './endpoint.ts'

const endpoint: ProxyEndpoint = { host: '192.0.2.7', port: 10_800, login: 'tp1', password: 'a:b@c', protocol: 'both' }

test('toUrl writes the scheme of the protocol and escapes the password', () => {
  expect(toUrl(endpoint)).toBe('http://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(toUrl({ ...endpoint, protocol: 'socks' })).toBe('socks5h://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(new URL(toUrl({ ...endpoint, host: '2001:db8::7' })).hostname).toBe('[2001:db8::7]')
})

test('toTelegram passes each part of an endpoint as a parameter', () => {
  const given = new URL(toTelegram(endpoint)).searchParams
  expect(Object.fromEntries(given)).toEqual({ server: '192.0.2.7', port: '10800', user: 'tp1', pass: 'a:b@c' })
})

test('toLine writes an endpoint in each of the 4 forms of a line, with brackets around an IPv6 address', () => {
  const tls = { host: 'proxy.example.com', port: 443, browserHost: 'browser.example.com' }
  const plain = ['192.0.2.7:10800:tp1:a:b@c', 'tp1:a:b@c@192.0.2.7:10800', 'http://tp1:a%3Ab%40c@192.0.2.7:10800']
  const over = 'https://tp1:a%3Ab%40c@proxy.example.com:443'
  expect(lineForms.map((form) => toLine({ ...endpoint, tls }, form))).toEqual([...plain, over])
  expect(lineForms.map((form) => toLine(endpoint, form))).toEqual([...plain, undefined])
  expect(toLine({ ...endpoint, tls, protocol: 'socks' }, 'https')).toBeUndefined()
  expect(toLine({ ...endpoint, host: '2001:db8::7' }, '1')).toBe('[2001:db8::7]:10800:tp1:a:b@c')
})

test('schemesOf offers https only with a TLS port, and what the protocol allows', () => {
  const tls = { host: 'proxy.example.com', port: 443, browserHost: null }
  expect(schemesOf({ ...endpoint, tls })).toEqual(['http', 'https', 'socks5'])
  expect(schemesOf({ ...endpoint, protocol: 'http' })).toEqual(['http'])
  expect(schemesOf({ ...endpoint, protocol: 'socks' })).toEqual(['socks5'])
})

describe('toSnippet writes what a program needs, with a password of quotes, a backslash and signs of shells', () => {
  const hard: ProxyEndpoint = {
    ...endpoint,
    password: `a:b@c"d'e\\f$g!`,
    tls: { host: 'proxy.example.com', port: 443, browserHost: 'browser.example.com' },
  }
  const escapedPassword = 'a%3Ab%40c%22d%27e%5Cf%24g%21'
  const all = (program: (typeof programs)[number]) =>
    (['http', 'https', 'socks5'] as const).map((scheme) => toSnippet(hard, scheme, program))
  const urls = [
    `http://tp1:${escapedPassword}@192.0.2.7:10800`,
    `https://tp1:${escapedPassword}@proxy.example.com:443`,
    `socks5h://tp1:${escapedPassword}@192.0.2.7:10800`,
  ]

  test('curl: the URL in double quotes, which sh, PowerShell and cmd know', () => {
    expect(all('curl')).toEqual(urls.map((url) => `curl -x "${url}" https://example.com`))
  })

  test('Chrome: the switch without the login, and nothing for SOCKS5', () => {
    expect(all('Chrome')).toEqual([
      'chrome --proxy-server="http://192.0.2.7:10800"',
      'chrome --proxy-server="https://browser.example.com:443"',
      undefined,
    ])
    const ipv6 = { ...hard, host: '2001:db8::7' }
    expect(toSnippet(ipv6, 'http', 'Chrome')).toBe('chrome --proxy-server="http://[2001:db8::7]:10800"')
  })

  test('Firefox: a PAC script as a data URL without the login, and nothing for SOCKS5', () => {
    expect(all('Firefox')).toEqual([
      'data:text/plain,function%20FindProxyForURL()%7Breturn%20%22PROXY%20192.0.2.7:10800%22%7D',
      'data:text/plain,function%20FindProxyForURL()%7Breturn%20%22HTTPS%20browser.example.com:443%22%7D',
      undefined,
    ])
    expect(decodeURI(toSnippet(hard, 'https', 'Firefox') ?? '')).toEndWith('{return "HTTPS browser.example.com:443"}')
  })

  test('Python: requests with the URL, and the package with SOCKS5', () => {
    const after = [
      "answer = requests.get('https://example.com', proxies={'http': proxy, 'https': proxy}, timeout=30)",
      'print(answer.status_code)',
    ]
    const packages = ['requests', 'requests', "'requests[socks]'"]
    expect(all('Python')).toEqual(
      urls.map((url, index) =>
        [`# pip install ${packages[index]}`, 'import requests', '', `proxy = '${url}'`, ...after].join('\n'),
      ),
    )
  })

  test('Playwright: the server beside the login and password, and nothing for SOCKS5', () => {
    const access = String.raw`username: "tp1", password: "a:b@c\"d'e\\f$g!"`
    expect(all('Playwright')).toEqual([
      `const browser = await chromium.launch({ proxy: { server: "http://192.0.2.7:10800", ${access} } })`,
      `const browser = await chromium.launch({ proxy: { server: "https://browser.example.com:443", ${access} } })`,
      undefined,
    ])
  })

  test('Chrome, Firefox and Playwright get nothing over TLS without a browser host, and the other 4 programs do', () => {
    const of = { ...hard, tls: { host: 'proxy.example.com', port: 443, browserHost: null } }
    const without = programs.filter((program) => toSnippet(of, 'https', program) === undefined)
    expect(without).toEqual(['Chrome', 'Firefox', 'Playwright'])
    expect(programs).toHaveLength(7)
    expect(programs.every((program) => toSnippet(of, 'http', program) !== undefined)).toBeTrue()
  })

  test('sing-box: an outbound of type http, http with tls, or socks', () => {
    const access = { username: 'tp1', password: hard.password }
    const tls = { enabled: true, server_name: 'proxy.example.com' }
    const at = { tag: 'proxy', server: '192.0.2.7', server_port: 10_800 }
    const over = { tag: 'proxy', server: 'proxy.example.com', server_port: 443 }
    expect(all('sing-box').map((each) => JSON.parse(each ?? ''))).toEqual([
      { type: 'http', ...at, ...access },
      { type: 'http', ...over, ...access, tls },
      { type: 'socks', ...at, version: '5', ...access },
    ])
    const text = toSnippet({ ...endpoint, password: 'secret' }, 'http', 'sing-box')
    expect(text).toBe(
      [
        '{',
        '  "type": "http",',
        '  "tag": "proxy",',
        '  "server": "192.0.2.7",',
        '  "server_port": 10800,',
        '  "username": "tp1",',
        '  "password": "secret"',
        '}',
      ].join('\n'),
    )
  })

  test('mihomo: a proxy of type http, http with tls, or socks5 with udp', () => {
    const access = ['    username: "tp1"', String.raw`    password: "a:b@c\"d'e\\f$g!"`]
    const at = ['    server: "192.0.2.7"', '    port: 10800']
    const over = ['    server: "proxy.example.com"', '    port: 443']
    const tls = ['    tls: true', '    sni: "proxy.example.com"']
    const head = ['proxies:', '  - name: proxy']
    expect(all('mihomo').map((each) => each?.split('\n'))).toEqual([
      [...head, '    type: http', ...at, ...access],
      [...head, '    type: http', ...over, ...access, ...tls],
      [...head, '    type: socks5', ...at, ...access, '    udp: true'],
    ])
    expect(Bun.YAML.parse(toSnippet(hard, 'https', 'mihomo') ?? '')).toEqual({
      proxies: [
        {
          name: 'proxy',
          type: 'http',
          server: 'proxy.example.com',
          port: 443,
          username: 'tp1',
          password: hard.password,
          tls: true,
          sni: 'proxy.example.com',
        },
      ],
    })
  })

  test('a shell passes the URL of the curl command on unchanged', () => {
    const command = toSnippet(hard, 'https', 'curl') ?? ''
    const { stdout } = Bun.spawnSync(['sh', '-c', command.replace('curl', `printf '%s\\n'`)])
    expect(stdout.toString()).toBe(`-x\n${urls[1]}\nhttps://example.com\n`)
  })
})
