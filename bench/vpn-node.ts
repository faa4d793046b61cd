import { findGround, type Net, places } from '../test/harness/netns.ts'
import {
  type Client,
  makeCustomer,
  makePeers,
  makeSetup,
  openClient,
  openScene,
  type Scene,
  startWireguardGo,
} from '../test/harness/tunnel.ts'
