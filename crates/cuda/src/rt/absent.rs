// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of the runtime API that we do not do: graphics, other processes, semaphores from outside, parts of a device, conditional
//! nodes. Each one exists, since programs may import it without calling it, and reports once that it is not supported.

use crate::rt::api::unsupported;

unsupported! {
    all:
        cudaArrayGetSparseProperties cudaDestroyExternalMemory cudaDestroyExternalSemaphore
        cudaDeviceGetNvSciSyncAttributes cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect
        cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect
        cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect
        cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
        cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray cudaGLGetDevices
        cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject
        cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject
        cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
        cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
        cudaGraphExecExternalSemaphoresSignalNodeSetParams
        cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExternalSemaphoresSignalNodeGetParams
        cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
        cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphicsEGLRegisterImage
        cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsMapResources
        cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
        cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
        cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
        cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface
        cudaImportExternalMemory cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle
        cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaMemPoolExportPointer
        cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer
        cudaMipmappedArrayGetSparseProperties cudaSignalExternalSemaphoresAsync
        cudaSignalExternalSemaphoresAsync_ptsz cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
        cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz;
    since12:
        cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
        cudaGraphConditionalHandleCreate;
    until12:
        cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
        cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz;
    only13:
        __cudaGetProcAddress cudaDevResourceGenerateDesc cudaDevSmResourceSplit
        cudaDevSmResourceSplitByCount cudaDeviceGetDevResource cudaDeviceGetExecutionCtx
        cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice
        cudaExecutionCtxGetId cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate
        cudaExecutionCtxSynchronize cudaExecutionCtxWaitEvent cudaGraphConditionalHandleCreate_v2
        cudaGraphNodeGetParams cudaGreenCtxCreate cudaLogsCurrent cudaLogsDumpToFile
        cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaMemGetLocationInfo
        cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz cudaStreamGetDevResource
        cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate
        cudaSubgridWorksetCreate;
}
