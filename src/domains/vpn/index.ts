import { bind } from '../../core/bind.ts'
import { accessKeys, makeMissingKeys } from './access-keys.ts'
import { announceEnds, announceLow } from './announce.ts'
import { verifierOf } from './audit.ts'
import { buy, buyerOf, quote } from './buy.ts'
import { addDevice, configuration, prepareDevice, removeDevice, resetDevices } from './devices.ts'
import { doctorDevice } from './doctor-device.ts'
import { createVpnGateways } from './gateways/nodes.ts'
import { recheckGroups } from './groups.ts'
import { openLink } from './link.ts'
import { forgetPlaces } from './machines/places.ts'
import { createVpnNodes } from './nodes.ts'
import {
  countActive,
  countEnding,
  delivered,
  findNamed,
  held,
  holdersOf,
  move,
  setDisabled,
  show,
  usage,
} from './operate.ts'
import { deleteSubscription, endingOf, quoteRefund } from './refund.ts'
import { endSlots, renew, renewDue, setAutoRenew, sweep } from './renew.ts'
import { increase, quoteSlots, slotsOf } from './slots.ts'
import {
  findOwned,
  info,
  isServed,
  linkFormOf,
  listLocations,
  listProtocols,
  resetLink,
  setName,
  type VpnDeps,
} from './subscriptions.ts'

export type { AccessKeys } from './access-keys.ts'
export type { AppIdentity } from './app-devices.ts'
export type { BoughtVpn } from './buy.ts'
export type { Configuration } from './devices.ts'
export type { VpnGateway } from './link.ts'
export type { Drawing } from './ports.ts'
export type { BoughtSlots } from './slots.ts'
export type { VpnSettings } from './subscriptions.ts'

export type Vpn = ReturnType<typeof createVpn>

export const createVpn = (deps: VpnDeps) => ({
  ...bind(deps, {
    quote,
    buy,
    quoteSlots,
    slotsOf,
    increase,
    renew,
    setAutoRenew,
    renewDue,
    endSlots,
    sweep,
    announceEnds,
    announceLow,
    delete: deleteSubscription,
    quoteRefund,
  }),
  ...bind(deps, { info, locations: listLocations, protocols: listProtocols, isServed, resetLink, setName, findOwned }),
  ...bind(deps, {
    addDevice,
    prepareDevice,
    removeDevice,
    resetDevices,
    configuration,
    openLink,
    accessKeys,
    makeMissingKeys,
    forgetPlaces,
    recheckGroups,
  }),
  ...bind(deps, { doctorDevice, linkFormOf }),
  ...bind(deps, { show, usage, findNamed, setDisabled, move, delivered, holdersOf, countActive, countEnding, held }),
  buyer: buyerOf(deps),
  ending: endingOf(deps),
  nodes: createVpnNodes(deps),
  gateways: createVpnGateways(deps),
  verifier: verifierOf(deps),
})
