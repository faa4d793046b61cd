import { useMessages } from '../../shared/language.tsx'
import { NoSuchPage, Page, SectionNav } from '../../shared/parts.tsx'
import { AccessTab } from './access.tsx'
import { GenerateTab } from './generate.tsx'
import { premiumMessages } from './messages.ts'
import { PoolsTab } from './pools.tsx'
import { SubusersTab } from './subusers.tsx'
import { UsageTab } from './usage.tsx'

const tabs = { '': PoolsTab, generate: GenerateTab, access: AccessTab, usage: UsageTab, subusers: SubusersTab }

const isTab = (name: string): name is keyof typeof tabs => name in tabs

export function PremiumPage({ tab }: { readonly tab: string }) {
  const { t } = useMessages(premiumMessages)
  if (!isTab(tab)) return <NoSuchPage />
  const Shown = tabs[tab]
  return (
    <Page title={t.title} about={t.about}>
      <SectionNav label={t.title} base="/premium" names={t.tabs} current={tab} />
      <Shown />
    </Page>
  )
}
