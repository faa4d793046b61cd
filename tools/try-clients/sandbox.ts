import { makeCertificate, putCertificate } from '../../test/harness/certificates.ts'
import { buyVpn, freePort, openShopWithGateway } from '../../test/harness/gateway.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'

/** A shop with a gateway that serves VPN devices, and the secret link of one subscription. */
export async function openSandbox() {
  const files = putCertificate(await makeCertificate('vpn'))
  const shop = await openShopWithGateway('sqlite', {
    shop: { TURNPIKE_GATEWAY_VPN: 'on' },
    gateway: { ...files.env, TURNPIKE_GATEWAY_TLS_PORT: String(freePort()), TURNPIKE_GATEWAY_VPN: 'on' },
  })
  await buyVpn(shop)
  const link = async (format: string): Promise<string> => {
    const { data } = (await shop.get('/vpn/info')) as { data: { subscription_url: string } }
    return (await fetch(`${data.subscription_url}?format=${format}`)).text()
  }
  await untilTrue(async () => (await link('base64')) !== '')
  return {
    link,
    certificate: files.cert,
    async stop(): Promise<void> {
      await shop.stop()
      files.remove()
    },
  }
}
