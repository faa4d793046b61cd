import type { AttackName } from '../bounds.ts'
import type { OpenAttack } from './attacker.ts'
import { openDeviceChurn } from './devices.ts'
import { openDeadDials, openIdlers, openNameGuesser, openQuotaOverrun, openRevokedLines } from './gateway.ts'
import { openCapPasser, openDripper, openOverdraft, openRepeatedKeys } from './money.ts'
import { openLyingGateway, openLyingVpnNode } from './nodes.ts'
import { openForeignIds, openMalformed, openNoise } from './requests.ts'

/** Every attack that needs nothing beyond the machine itself. */
export const attacks: Readonly<Record<Exclude<AttackName, 'bytes not acknowledged'>, OpenAttack>> = {
  'repeated keys': openRepeatedKeys,
  overdraft: openOverdraft,
  'access revoked within the body': openDripper,
  'cap passed by renewals': openCapPasser,
  'foreign ids and cursors': openForeignIds,
  'malformed requests': openMalformed,
  'noise at the gateway': openNoise,
  'devices added and removed': openDeviceChurn,
  'quota overrun': openQuotaOverrun,
  'revoked lines': openRevokedLines,
  'lying gateway': openLyingGateway,
  'lying VPN node': openLyingVpnNode,
  'dials that are never answered': openDeadDials,
  'idle and dripped connections': openIdlers,
  'names told apart': openNameGuesser,
}
