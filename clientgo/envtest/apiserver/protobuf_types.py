"""Field numbers of Kubernetes' protobuf messages, as far as clients send them: facts of the wire format, no code.

A row is a message: its name, then `number:JSON name:type` of each field. A field without a name is merged into the
object around it (Go's embedded structs). Types: s string, i integer, b boolean, y bytes, t time, u time with
microseconds, q quantity, I integer or string, j JSON in bytes; else another message. Before a type `*` is a list, `%` a
map from strings; behind it `!` is a Go pointer, which tells "zero" from "absent", where other zeros are left out.
Volumes of single vendors are left out: a message that uses one is refused, not misread.
"""

MESSAGES = """
Affinity 1:nodeAffinity:NodeAffinity! 2:podAffinity:PodAffinity! 3:podAntiAffinity:PodAntiAffinity!
AggregationRule 1:clusterRoleSelectors:*LabelSelector
AppArmorProfile 1:type:s 2:localhostProfile:s!
BoundObjectReference 1:kind:s 2:apiVersion:s 3:name:s 4:uid:s
CSIVolumeSource 1:driver:s 2:readOnly:b! 3:fsType:s! 4:volumeAttributes:%s
    5:nodePublishSecretRef:LocalObjectReference!
Capabilities 1:add:*s 2:drop:*s
ClientIPConfig 1:timeoutSeconds:i!
ClusterRole 1:metadata:ObjectMeta 2:rules:*PolicyRule 3:aggregationRule:AggregationRule!
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef
Condition 1:type:s 2:status:s 3:observedGeneration:i 4:lastTransitionTime:t 5:reason:s 6:message:s
ConfigMap 1:metadata:ObjectMeta 2:data:%s 3:binaryData:%y 4:immutable:b!
ConfigMapEnvSource 1::LocalObjectReference 2:optional:b!
ConfigMapKeySelector 1::LocalObjectReference 2:key:s 3:optional:b!
ConfigMapProjection 1::LocalObjectReference 2:items:*KeyToPath 4:optional:b!
ConfigMapVolumeSource 1::LocalObjectReference 2:items:*KeyToPath 3:defaultMode:i! 4:optional:b! 5:defaultUser:i!
Container 1:name:s 2:image:s 3:command:*s 4:args:*s 5:workingDir:s 6:ports:*ContainerPort 7:env:*EnvVar
    8:resources:ResourceRequirements 9:volumeMounts:*VolumeMount 10:livenessProbe:Probe! 11:readinessProbe:Probe!
    12:lifecycle:Lifecycle! 13:terminationMessagePath:s 14:imagePullPolicy:s 15:securityContext:SecurityContext!
    16:stdin:b 17:stdinOnce:b 18:tty:b 19:envFrom:*EnvFromSource 20:terminationMessagePolicy:s
    21:volumeDevices:*VolumeDevice 22:startupProbe:Probe! 23:resizePolicy:*ContainerResizePolicy 24:restartPolicy:s!
ContainerPort 1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s
ContainerResizePolicy 1:resourceName:s 2:restartPolicy:s
CronJob 1:metadata:ObjectMeta 2:spec:CronJobSpec 3:status:CronJobStatus
CronJobSpec 1:schedule:s 2:startingDeadlineSeconds:i! 3:concurrencyPolicy:s 4:suspend:b! 5:jobTemplate:JobTemplateSpec
    6:successfulJobsHistoryLimit:i! 7:failedJobsHistoryLimit:i! 8:timeZone:s!
CronJobStatus 1:active:*ObjectReference 4:lastScheduleTime:t! 5:lastSuccessfulTime:t!
CrossVersionObjectReference 1:kind:s 2:name:s 3:apiVersion:s
DeleteOptions 1:gracePeriodSeconds:i! 2:preconditions:Preconditions! 3:orphanDependents:b! 4:propagationPolicy:s!
    5:dryRun:*s
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec 3:status:DeploymentStatus
DeploymentCondition 1:type:s 2:status:s 4:reason:s 5:message:s 6:lastUpdateTime:t 7:lastTransitionTime:t
DeploymentSpec 1:replicas:i! 2:selector:LabelSelector! 3:template:PodTemplateSpec 4:strategy:DeploymentStrategy
    5:minReadySeconds:i 6:revisionHistoryLimit:i! 7:paused:b 9:progressDeadlineSeconds:i!
DeploymentStatus 1:observedGeneration:i 2:replicas:i 3:updatedReplicas:i 4:availableReplicas:i 5:unavailableReplicas:i
    6:conditions:*DeploymentCondition 7:readyReplicas:i 8:collisionCount:i! 9:terminatingReplicas:i!
DeploymentStrategy 1:type:s 2:rollingUpdate:RollingUpdateDeployment!
DownwardAPIProjection 1:items:*DownwardAPIVolumeFile
DownwardAPIVolumeFile 1:path:s 2:fieldRef:ObjectFieldSelector! 3:resourceFieldRef:ResourceFieldSelector! 4:mode:i!
    5:user:i!
DownwardAPIVolumeSource 1:items:*DownwardAPIVolumeFile 2:defaultMode:i! 3:defaultUser:i!
EmptyDirVolumeSource 1:medium:s 2:sizeLimit:q! 3:mode:i!
EnvFromSource 1:prefix:s 2:configMapRef:ConfigMapEnvSource! 3:secretRef:SecretEnvSource!
EnvVar 1:name:s 2:value:s 3:valueFrom:EnvVarSource!
EnvVarSource 1:fieldRef:ObjectFieldSelector! 2:resourceFieldRef:ResourceFieldSelector!
    3:configMapKeyRef:ConfigMapKeySelector! 4:secretKeyRef:SecretKeySelector! 5:fileKeyRef:FileKeySelector!
Event 1:metadata:ObjectMeta 2:involvedObject:ObjectReference 3:reason:s 4:message:s 5:source:EventSource
    6:firstTimestamp:t 7:lastTimestamp:t 8:count:i 9:type:s 10:eventTime:u 11:series:EventSeries! 12:action:s
    13:related:ObjectReference! 14:reportingComponent:s 15:reportingInstance:s
EventSeries 1:count:i 2:lastObservedTime:u
EventSource 1:component:s 2:host:s
ExecAction 1:command:*s
FieldSelectorAttributes 1:rawSelector:s 2:requirements:*FieldSelectorRequirement
FieldSelectorRequirement 1:key:s 2:operator:s 3:values:*s
FileKeySelector 1:volumeName:s 2:path:s 3:key:s 4:optional:b!
GRPCAction 1:port:i 2:service:s! 3:mode:s!
HTTPGetAction 1:path:s 2:port:I 3:host:s 4:scheme:s 5:httpHeaders:*HTTPHeader 6:protocol:s!
HTTPHeader 1:name:s 2:value:s
HTTPIngressPath 1:path:s 2:backend:IngressBackend 3:pathType:s!
HTTPIngressRuleValue 1:paths:*HTTPIngressPath
HorizontalPodAutoscaler 1:metadata:ObjectMeta 2:spec:HorizontalPodAutoscalerSpec
    3:status:HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerSpec 1:scaleTargetRef:CrossVersionObjectReference 2:minReplicas:i! 3:maxReplicas:i
    4:targetCPUUtilizationPercentage:i!
HorizontalPodAutoscalerStatus 1:observedGeneration:i! 2:lastScaleTime:t! 3:currentReplicas:i 4:desiredReplicas:i
    5:currentCPUUtilizationPercentage:i!
HostAlias 1:ip:s 2:hostnames:*s
HostPathVolumeSource 1:path:s 2:type:s!
Ingress 1:metadata:ObjectMeta 2:spec:IngressSpec 3:status:IngressStatus
IngressBackend 3:resource:TypedLocalObjectReference! 4:service:IngressServiceBackend!
IngressLoadBalancerIngress 1:ip:s 2:hostname:s 4:ports:*IngressPortStatus
IngressLoadBalancerStatus 1:ingress:*IngressLoadBalancerIngress
IngressPortStatus 1:port:i 2:protocol:s 3:error:s!
IngressRule 1:host:s 2::IngressRuleValue
IngressRuleValue 1:http:HTTPIngressRuleValue!
IngressServiceBackend 1:name:s 2:port:ServiceBackendPort
IngressSpec 1:defaultBackend:IngressBackend! 2:tls:*IngressTLS 3:rules:*IngressRule 4:ingressClassName:s!
IngressStatus 1:loadBalancer:IngressLoadBalancerStatus
IngressTLS 1:hosts:*s 2:secretName:s
Job 1:metadata:ObjectMeta 2:spec:JobSpec 3:status:JobStatus
JobCondition 1:type:s 2:status:s 3:lastProbeTime:t 4:lastTransitionTime:t 5:reason:s 6:message:s
JobSpec 1:parallelism:i! 2:completions:i! 3:activeDeadlineSeconds:i! 4:selector:LabelSelector! 5:manualSelector:b!
    6:template:PodTemplateSpec 7:backoffLimit:i! 8:ttlSecondsAfterFinished:i! 9:completionMode:s! 10:suspend:b!
    11:podFailurePolicy:PodFailurePolicy! 12:backoffLimitPerIndex:i! 13:maxFailedIndexes:i! 14:podReplacementPolicy:s!
    15:managedBy:s! 16:successPolicy:SuccessPolicy!
JobStatus 1:conditions:*JobCondition 2:startTime:t! 3:completionTime:t! 4:active:i 5:succeeded:i 6:failed:i
    7:completedIndexes:s 8:uncountedTerminatedPods:UncountedTerminatedPods! 9:ready:i! 10:failedIndexes:s!
    11:terminating:i!
JobTemplateSpec 1:metadata:ObjectMeta 2:spec:JobSpec
KeyToPath 1:key:s 2:path:s 3:mode:i! 4:user:i!
LabelSelector 1:matchLabels:%s 2:matchExpressions:*LabelSelectorRequirement
LabelSelectorAttributes 1:rawSelector:s 2:requirements:*LabelSelectorRequirement
LabelSelectorRequirement 1:key:s 2:operator:s 3:values:*s
Lease 1:metadata:ObjectMeta 2:spec:LeaseSpec
LeaseSpec 1:holderIdentity:s! 2:leaseDurationSeconds:i! 3:acquireTime:u! 4:renewTime:u! 5:leaseTransitions:i!
    6:strategy:s! 7:preferredHolder:s!
Lifecycle 1:postStart:LifecycleHandler! 2:preStop:LifecycleHandler! 3:stopSignal:s!
LifecycleHandler 1:exec:ExecAction! 2:httpGet:HTTPGetAction! 3:tcpSocket:TCPSocketAction! 4:sleep:SleepAction!
LoadBalancerIngress 1:ip:s 2:hostname:s 3:ipMode:s! 4:ports:*PortStatus
LoadBalancerStatus 1:ingress:*LoadBalancerIngress
LocalObjectReference 1:name:s
ManagedFieldsEntry 1:manager:s 2:operation:s 3:apiVersion:s 4:time:t! 6:fieldsType:s 7:fieldsV1:j! 8:subresource:s
NFSVolumeSource 1:server:s 2:path:s 3:readOnly:b
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec 3:status:NamespaceStatus
NamespaceCondition 1:type:s 2:status:s 4:lastTransitionTime:t 5:reason:s 6:message:s
NamespaceSpec 1:finalizers:*s
NamespaceStatus 1:phase:s 2:conditions:*NamespaceCondition
NodeAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:NodeSelector!
    2:preferredDuringSchedulingIgnoredDuringExecution:*PreferredSchedulingTerm
NodeSelector 1:nodeSelectorTerms:*NodeSelectorTerm
NodeSelectorRequirement 1:key:s 2:operator:s 3:values:*s
NodeSelectorTerm 1:matchExpressions:*NodeSelectorRequirement 2:matchFields:*NodeSelectorRequirement
NonResourceAttributes 1:path:s 2:verb:s
NonResourceRule 1:verbs:*s 2:nonResourceURLs:*s
ObjectFieldSelector 1:apiVersion:s 2:fieldPath:s
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 4:selfLink:s 5:uid:s 6:resourceVersion:s 7:generation:i
    8:creationTimestamp:t 9:deletionTimestamp:t! 10:deletionGracePeriodSeconds:i! 11:labels:%s 12:annotations:%s
    13:ownerReferences:*OwnerReference 14:finalizers:*s 17:managedFields:*ManagedFieldsEntry
ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
OwnerReference 1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:b! 7:blockOwnerDeletion:b!
PersistentVolumeClaimVolumeSource 1:claimName:s 2:readOnly:b
Pod 1:metadata:ObjectMeta 2:spec:PodSpec 3:status:PodStatus
PodAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:*PodAffinityTerm
    2:preferredDuringSchedulingIgnoredDuringExecution:*WeightedPodAffinityTerm
PodAffinityTerm 1:labelSelector:LabelSelector! 2:namespaces:*s 3:topologyKey:s 4:namespaceSelector:LabelSelector!
    5:matchLabelKeys:*s 6:mismatchLabelKeys:*s
PodAntiAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:*PodAffinityTerm
    2:preferredDuringSchedulingIgnoredDuringExecution:*WeightedPodAffinityTerm
PodDNSConfig 1:nameservers:*s 2:searches:*s 3:options:*PodDNSConfigOption
PodDNSConfigOption 1:name:s 2:value:s!
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec 3:status:PodDisruptionBudgetStatus
PodDisruptionBudgetSpec 1:minAvailable:I! 2:selector:LabelSelector! 3:maxUnavailable:I!
    4:unhealthyPodEvictionPolicy:s!
PodDisruptionBudgetStatus 1:observedGeneration:i 2:disruptedPods:%t 3:disruptionsAllowed:i 4:currentHealthy:i
    5:desiredHealthy:i 6:expectedPods:i 7:conditions:*Condition
PodFailurePolicy 1:rules:*PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement 1:containerName:s! 2:operator:s 3:values:*i
PodFailurePolicyOnPodConditionsPattern 1:type:s 2:status:s
PodFailurePolicyRule 1:action:s 2:onExitCodes:PodFailurePolicyOnExitCodesRequirement!
    3:onPodConditions:*PodFailurePolicyOnPodConditionsPattern
PodReadinessGate 1:conditionType:s
PodSchedulingGate 1:name:s
PodSecurityContext 1:seLinuxOptions:SELinuxOptions! 2:runAsUser:i! 3:runAsNonRoot:b! 4:supplementalGroups:*i
    5:fsGroup:i! 6:runAsGroup:i! 7:sysctls:*Sysctl 9:fsGroupChangePolicy:s! 10:seccompProfile:SeccompProfile!
    11:appArmorProfile:AppArmorProfile! 12:supplementalGroupsPolicy:s! 13:seLinuxChangePolicy:s!
PodSpec 1:volumes:*Volume 2:containers:*Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:i!
    5:activeDeadlineSeconds:i! 6:dnsPolicy:s 7:nodeSelector:%s 8:serviceAccountName:s 9:serviceAccount:s 10:nodeName:s
    11:hostNetwork:b 12:hostPID:b 13:hostIPC:b 14:securityContext:PodSecurityContext!
    15:imagePullSecrets:*LocalObjectReference 16:hostname:s 17:subdomain:s 18:affinity:Affinity! 19:schedulerName:s
    20:initContainers:*Container 21:automountServiceAccountToken:b! 22:tolerations:*Toleration
    23:hostAliases:*HostAlias 24:priorityClassName:s 25:priority:i! 26:dnsConfig:PodDNSConfig!
    27:shareProcessNamespace:b! 28:readinessGates:*PodReadinessGate 29:runtimeClassName:s! 30:enableServiceLinks:b!
    31:preemptionPolicy:s! 32:overhead:%q 33:topologySpreadConstraints:*TopologySpreadConstraint
    35:setHostnameAsFQDN:b! 37:hostUsers:b! 38:schedulingGates:*PodSchedulingGate 40:resources:ResourceRequirements!
    41:hostnameOverride:s!
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
PolicyRule 1:verbs:*s 2:apiGroups:*s 3:resources:*s 4:resourceNames:*s 5:nonResourceURLs:*s
PortStatus 1:port:i 2:protocol:s 3:error:s!
Preconditions 1:uid:s! 2:resourceVersion:s!
PreferredSchedulingTerm 1:weight:i 2:preference:NodeSelectorTerm
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s!
Probe 1::ProbeHandler 2:initialDelaySeconds:i 3:timeoutSeconds:i 4:periodSeconds:i 5:successThreshold:i
    6:failureThreshold:i 7:terminationGracePeriodSeconds:i!
ProbeHandler 1:exec:ExecAction! 2:httpGet:HTTPGetAction! 3:tcpSocket:TCPSocketAction! 4:grpc:GRPCAction!
ProjectedVolumeSource 1:sources:*VolumeProjection 2:defaultMode:i! 3:defaultUser:i!
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s
    8:fieldSelector:FieldSelectorAttributes! 9:labelSelector:LabelSelectorAttributes!
ResourceClaim 1:name:s 2:request:s
ResourceFieldSelector 1:containerName:s 2:resource:s 3:divisor:q
ResourceQuota 1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec 3:status:ResourceQuotaStatus
ResourceQuotaSpec 1:hard:%q 2:scopes:*s 3:scopeSelector:ScopeSelector!
ResourceQuotaStatus 1:hard:%q 2:used:%q
ResourceRequirements 1:limits:%q 2:requests:%q 3:claims:*ResourceClaim
ResourceRule 1:verbs:*s 2:apiGroups:*s 3:resources:*s 4:resourceNames:*s
Role 1:metadata:ObjectMeta 2:rules:*PolicyRule
RoleBinding 1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
RollingUpdateDeployment 1:maxUnavailable:I! 2:maxSurge:I!
SELinuxOptions 1:user:s 2:role:s 3:type:s 4:level:s
ScopeSelector 1:matchExpressions:*ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement 1:scopeName:s 2:operator:s 3:values:*s
SeccompProfile 1:type:s 2:localhostProfile:s!
Secret 1:metadata:ObjectMeta 2:data:%y 3:type:s 4:stringData:%s 5:immutable:b!
SecretEnvSource 1::LocalObjectReference 2:optional:b!
SecretKeySelector 1::LocalObjectReference 2:key:s 3:optional:b!
SecretProjection 1::LocalObjectReference 2:items:*KeyToPath 4:optional:b!
SecretVolumeSource 1:secretName:s 2:items:*KeyToPath 3:defaultMode:i! 4:optional:b! 5:defaultUser:i!
SecurityContext 1:capabilities:Capabilities! 2:privileged:b! 3:seLinuxOptions:SELinuxOptions! 4:runAsUser:i!
    5:runAsNonRoot:b! 6:readOnlyRootFilesystem:b! 7:allowPrivilegeEscalation:b! 8:runAsGroup:i! 9:procMount:s!
    11:seccompProfile:SeccompProfile! 12:appArmorProfile:AppArmorProfile!
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec 3:status:SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes! 2:nonResourceAttributes:NonResourceAttributes!
SelfSubjectReview 1:metadata:ObjectMeta 2:status:SelfSubjectReviewStatus
SelfSubjectReviewStatus 1:userInfo:UserInfo
SelfSubjectRulesReview 1:metadata:ObjectMeta 2:spec:SelfSubjectRulesReviewSpec 3:status:SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec 1:namespace:s
Service 1:metadata:ObjectMeta 2:spec:ServiceSpec 3:status:ServiceStatus
ServiceAccount 1:metadata:ObjectMeta 2:secrets:*ObjectReference 3:imagePullSecrets:*LocalObjectReference
    4:automountServiceAccountToken:b!
ServiceAccountTokenProjection 1:audience:s 2:expirationSeconds:i! 3:path:s 4:user:i!
ServiceBackendPort 1:name:s 2:number:i
ServicePort 1:name:s 2:protocol:s 3:port:i 4:targetPort:I 5:nodePort:i 6:appProtocol:s!
ServiceSpec 1:ports:*ServicePort 2:selector:%s 3:clusterIP:s 4:type:s 5:externalIPs:*s 7:sessionAffinity:s
    8:loadBalancerIP:s 9:loadBalancerSourceRanges:*s 10:externalName:s 11:externalTrafficPolicy:s
    12:healthCheckNodePort:i 13:publishNotReadyAddresses:b 14:sessionAffinityConfig:SessionAffinityConfig!
    17:ipFamilyPolicy:s! 18:clusterIPs:*s 19:ipFamilies:*s 20:allocateLoadBalancerNodePorts:b! 21:loadBalancerClass:s!
    22:internalTrafficPolicy:s! 23:trafficDistribution:s!
ServiceStatus 1:loadBalancer:LoadBalancerStatus 2:conditions:*Condition
SessionAffinityConfig 1:clientIP:ClientIPConfig!
SleepAction 1:seconds:i
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
SubjectAccessReview 1:metadata:ObjectMeta 2:spec:SubjectAccessReviewSpec 3:status:SubjectAccessReviewStatus
SubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes! 2:nonResourceAttributes:NonResourceAttributes! 3:user:s
    4:groups:*s 6:uid:s
SubjectAccessReviewStatus 1:allowed:b 2:reason:s 3:evaluationError:s 4:denied:b
SubjectRulesReviewStatus 1:resourceRules:*ResourceRule 2:nonResourceRules:*NonResourceRule 3:incomplete:b
    4:evaluationError:s
SuccessPolicy 1:rules:*SuccessPolicyRule
SuccessPolicyRule 1:succeededIndexes:s! 2:succeededCount:i!
Sysctl 1:name:s 2:value:s
TCPSocketAction 1:port:I 2:host:s
TokenRequest 1:metadata:ObjectMeta 2:spec:TokenRequestSpec 3:status:TokenRequestStatus
TokenRequestSpec 1:audiences:*s 3:boundObjectRef:BoundObjectReference! 4:expirationSeconds:i!
TokenRequestStatus 1:token:s 2:expirationTimestamp:t
TokenReview 1:metadata:ObjectMeta 2:spec:TokenReviewSpec 3:status:TokenReviewStatus
TokenReviewSpec 1:token:s 2:audiences:*s
TokenReviewStatus 1:authenticated:b 2:user:UserInfo 3:error:s 4:audiences:*s
Toleration 1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:i!
TopologySpreadConstraint 1:maxSkew:i 2:topologyKey:s 3:whenUnsatisfiable:s 4:labelSelector:LabelSelector!
    5:minDomains:i! 6:nodeAffinityPolicy:s! 7:nodeTaintsPolicy:s! 8:matchLabelKeys:*s
TypedLocalObjectReference 1:apiGroup:s! 2:kind:s 3:name:s
UncountedTerminatedPods 1:succeeded:*s 2:failed:*s
UserInfo 1:username:s 2:uid:s 3:groups:*s 4:extra:%*s
Volume 1:name:s 2::VolumeSource
VolumeDevice 1:name:s 2:devicePath:s
VolumeMount 1:name:s 2:readOnly:b 3:mountPath:s 4:subPath:s 5:mountPropagation:s! 6:subPathExpr:s
    7:recursiveReadOnly:s! 8:bindMountOptions:*s
VolumeProjection 1:secret:SecretProjection! 2:downwardAPI:DownwardAPIProjection! 3:configMap:ConfigMapProjection!
    4:serviceAccountToken:ServiceAccountTokenProjection!
VolumeSource 1:hostPath:HostPathVolumeSource! 2:emptyDir:EmptyDirVolumeSource! 6:secret:SecretVolumeSource!
    7:nfs:NFSVolumeSource! 10:persistentVolumeClaim:PersistentVolumeClaimVolumeSource!
    16:downwardAPI:DownwardAPIVolumeSource! 19:configMap:ConfigMapVolumeSource! 26:projected:ProjectedVolumeSource!
    28:csi:CSIVolumeSource!
WeightedPodAffinityTerm 1:weight:i 2:podAffinityTerm:PodAffinityTerm
"""

KINDS: dict[str, tuple[str, ...]] = {
    "v1": (
        *("ConfigMap", "Event", "Namespace", "Pod", "ResourceQuota", "Secret", "Service", "ServiceAccount"),
        "DeleteOptions",
    ),
    "apps/v1": ("Deployment",),
    "authentication.k8s.io/v1": ("SelfSubjectReview", "TokenRequest", "TokenReview"),
    "authorization.k8s.io/v1": ("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"),
    "autoscaling/v1": ("HorizontalPodAutoscaler",),
    "batch/v1": ("CronJob", "Job"),
    "coordination.k8s.io/v1": ("Lease",),
    "networking.k8s.io/v1": ("Ingress",),
    "policy/v1": ("PodDisruptionBudget",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
}
"""The kinds that are read, by apiVersion; `DeleteOptions` is read in every group."""
