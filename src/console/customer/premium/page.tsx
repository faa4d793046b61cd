import { lazyPage } from '../../shared/lazy-page.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { MissingPage, Section } from '../../shared/parts.tsx'
import { AccessTab } from './access.tsx'
import { premiumMessages } from './messages.ts'
import { PoolsTab } from './pools.tsx'
import { SubusersTab } from './subusers.tsx'
import { usePools } from './use-pools.ts'

/** Tabs that most visits do not open are loaded when they are. */
const GenerateTab = lazyPage(async () => (await import('./generate.tsx')).GenerateTab)
const UsageTab = lazyPage(async () => (await import('./usage.tsx')).UsageTab)

const tabs = { '': PoolsTab, generate: GenerateTab, access: AccessTab, usage: UsageTab, subusers: SubusersTab }

export function PremiumPage({ tab }: { readonly tab: string }) {
  const { t } = useMessages(premiumMessages)
  if (usePools().data?.length === 0) return <MissingPage icon="globe" title={t.notSold} about={t.notSoldAbout} />
  return <Section title={t.title} about={t.about} base="/premium" names={t.tabs} tabs={tabs} tab={tab} />
}
