import { expect, test } from 'bun:test'
import { browserName } from './browser-name.ts'

test('browserName returns the browser and the system, not the other browsers that the User-Agent mentions', () => {
  const start = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) '
  expect(browserName(`${start}Chrome/126.0.0.0 Safari/537.36`)).toBe('Chrome 126 · Windows')
  expect(browserName(`${start}Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0`)).toBe('Edge 126 · Windows')
  const phone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
  expect(browserName(`${phone} Version/17.5 Mobile/15E148 Safari/604.1`)).toBe('Safari 17 · iOS')
  expect([browserName('curl/8.5.0'), browserName(null)]).toEqual(['curl/8.5.0', '—'])
})
