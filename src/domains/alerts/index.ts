import { bind } from '../../core/bind.ts'
import { type AlertDeps, list, settle } from './settle.ts'

export { toAlertLetter } from './letters.ts'

export type Alerts = ReturnType<typeof createAlerts>

export const createAlerts = (deps: AlertDeps) => bind(deps, { list, settle })
