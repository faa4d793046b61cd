import { type Browser, chromium } from 'playwright-core'
import { browserPackage, browsers, findBrowser, installPackages } from '../harness/apt.ts'
import { waitLimitMs } from '../harness/until.ts'

const installWithinMs = 480_000

/** Time limit for the preparation of a test, long enough to install the browser. */
export const readyWithinMs = installWithinMs + waitLimitMs

const howToGetIt =
  'No Chromium was found for the tests of pages. ' +
  `Put one of ${browsers.join(', ')} on PATH; on Debian or Ubuntu: apt-get install chromium, as root.`

/**
 * Chromium features to disable. The first ones repeat Playwright's own list, because only the last list counts. The
 * others cost as much per window as the page under test: address bar suggestions and a spare renderer process.
 */
const disabledFeatures = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'SpareRendererForSitePerProcess',
]

const quiet = [
  `--disable-features=${disabledFeatures.join(',')}`,
  '--disable-gpu',
  '--in-process-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A browser with its own empty profile, which is removed when it closes. */
export async function openChromium(more: readonly string[] = []): Promise<Browser> {
  installed ??= findOrInstall()
  return chromium.launch({
    executablePath: await installed,
    headless: true,
    chromiumSandbox: !isRoot(),
    args: [...quiet, ...more],
    timeout: waitLimitMs,
  })
}

/** Installed once for all tests. */
let installed: Promise<string> | undefined

async function findOrInstall(): Promise<string> {
  const found = findBrowser()
  if (found !== undefined) return found
  const problem = await installPackages([browserPackage])
  if (problem !== undefined) throw new Error(`${howToGetIt} ${problem}`)
  const now = findBrowser()
  if (now === undefined) throw new Error(`${howToGetIt} apt-get said that it installed it, yet it is not on PATH.`)
  return now
}

const isRoot = () => process.getuid?.() === 0
