import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../adapters/log.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { type Identity, IdentityError, takeIdentity } from '../../plane/agent/identity.ts'
import { createShopLink, LinkSettingError, type ShopLink } from '../../plane/agent/shop-link.ts'
import { realTiming } from '../../plane/agent/surroundings.ts'
import { BadSetting, type Config } from '../settings/config.ts'
import { keyFile } from '../shop/local-nodes.ts'

export const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

const shopUrlOf = ({ shopUrl, host, port }: Config): string =>
  shopUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Who this node is, joined with a key if it has not joined yet. Undefined when told to stop before that. */
export async function joinShop(
  config: Config,
  kind: NodeKind,
  folder: string,
  log: Log,
  end: AbortSignal,
): Promise<Identity | undefined> {
  try {
    return await takeIdentity({
      folder,
      log,
      timing: realTiming,
      chance: Math.random,
      version: manifest.version,
      randomBytes,
      key: config.nodeKey,
      keyFile: keyFile(config.folder, kind),
      linkWith: (secret) => linkTo(config, secret),
      end,
    })
  } catch (error) {
    if (end.aborted) return undefined
    throw error instanceof IdentityError ? new BadSetting(error.message) : error
  }
}

export function linkTo(config: Config, secret: string, onRefused?: () => void): ShopLink {
  try {
    return createShopLink({ url: shopUrlOf(config), secret, ...(onRefused && { onRefused }) })
  } catch (error) {
    if (error instanceof LinkSettingError) throw new BadSetting(`TURNPIKE_SHOP_URL (--shop-url): ${error.message}.`)
    throw error
  }
}
