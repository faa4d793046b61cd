import { type Browser, chromium } from 'playwright-core'
import { browserPackage, browsers, findBrowser, installPackages } from '../harness/apt.ts'
import { waitLimitMs } from '../harness/until.ts'

const installWithinMs = 480_000

/** How long a test's preparation may take: long enough for a machine that has to install the browser first. */
export const readyWithinMs = installWithinMs + waitLimitMs

const howToGetIt =
  'No Chromium was found for the tests of pages. ' +
  `Put one of ${browsers.join(', ')} on PATH; on Debian or Ubuntu: apt-get install chromium, as root.`

/**
 * What Playwright switches off by itself, said again since the last such list is the one that counts; and then what
 * costs as much as the page under test, for each window: lists under an address bar that nobody sees, and a process to
 * spare.
 */
const without = [
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
  `--disable-features=${without.join(',')}`,
  '--disable-gpu',
  '--in-process-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A browser with an empty profile of its own, which is removed when it closes. */
export async function openChromium(): Promise<Browser> {
  installed ??= findOrInstall()
  return chromium.launch({
    executablePath: await installed,
    headless: true,
    chromiumSandbox: !isRoot(),
    args: quiet,
    timeout: waitLimitMs,
  })
}

/** Installed once, however many tests ask for it at the same time. */
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
