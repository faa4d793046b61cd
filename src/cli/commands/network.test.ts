import { expect, test } from 'bun:test'
import { openOutageShop } from '../../../test/harness/outage-shop.ts'
import { createTool } from '../../../test/harness/tool.ts'

test('node vpn says that other protocols are off only if some are', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1'])
  const { run } = createTool(shop.services, () => shop.nowMs)
  try {
    const say = async (protocols: string) => (await run('node', 'vpn', 'gate-1', '--protocols', protocols)).lines[0]
    expect(await say('trojan')).toEndWith('protocols trojan. Others are off within 2 s.')
    expect(await say('default')).toEndWith('protocols all.')
  } finally {
    await shop.close()
  }
})
